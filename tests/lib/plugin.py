"""A provider plug-in driven from Python, without the daemon (ctypes).

    p = Plugin("build/release/plugins/davit-local.so")
    h = p.open(cluster="c", head="127.0.0.1:6379", options={}, types=[...])
    h.launch("t4", "req-1", 2); h.list(); h.terminate([ids])

The structures mirror autoscaler/provider.h.
"""
import ctypes as C
import time

STATUS = ["OK", "RETRY", "THROTTLED", "STOCKOUT", "QUOTA", "AUTH", "INVALID",
          "NOT_FOUND", "CANCELLED", "UNSUPPORTED", "BROKEN"]
PHASE = ["STARTING", "RUNNING", "STOPPING", "FAILED"]
S, U32, U64, P, N = C.c_char_p, C.c_uint32, C.c_uint64, C.c_void_p, C.c_size_t


class Kv(C.Structure):
    _fields_ = [("key", S), ("value", S)]


class Error(C.Structure):
    _fields_ = [("size", U32), ("retry_after_ms", U32), ("code", C.c_char * 48), ("text", C.c_char * 208)]


class NodeType(C.Structure):
    _fields_ = [("size", U32), ("name", S), ("pool", S), ("machine", S),
                ("resources", C.POINTER(Kv)), ("labels", C.POINTER(Kv)),
                ("n_resources", N), ("n_labels", N), ("zones", C.POINTER(S)), ("n_zones", N),
                ("min", U32), ("max", U32), ("spot", C.c_bool), ("options", C.POINTER(Kv)), ("n_options", N)]


class Setup(C.Structure):
    _fields_ = [("size", U32), ("cluster", S), ("head", S), ("options", C.POINTER(Kv)), ("n_options", N),
                ("types", C.POINTER(C.POINTER(NodeType))), ("n_types", N)]


class Machine(C.Structure):
    _fields_ = [("size", U32), ("id", S), ("request_id", S), ("offer", S), ("zone", S), ("address", S),
                ("phase", U32), ("spot", C.c_bool), ("failure", U32), ("detail", S)]


class Launch(C.Structure):
    _fields_ = [("size", U32), ("offer", S), ("zone", S), ("request_id", S), ("count", U32),
                ("tags", C.POINTER(Kv)), ("n_tags", N), ("spot", C.c_bool), ("join_token", S)]


HTTP = C.CFUNCTYPE(C.c_int, P, P, P)
SLEEP = C.CFUNCTYPE(C.c_bool, P, U32)
REMAINING = C.CFUNCTYPE(U32, P)
WALL = C.CFUNCTYPE(C.c_int64)
LOG = C.CFUNCTYPE(None, C.c_int, S)
PUT = C.CFUNCTYPE(None, P, C.POINTER(Machine))
DONE = C.CFUNCTYPE(None, P, S, C.c_int)
ERR = C.POINTER(Error)


class Host(C.Structure):
    _fields_ = [("size", U32), ("http", HTTP), ("sleep", SLEEP), ("remaining_ms", REMAINING),
                ("wall_ms", WALL), ("log", LOG)]


class Provider(C.Structure):
    _fields_ = [("size", U32), ("name", S), ("version", S), ("caps", U64), ("options", C.POINTER(Kv)),
                ("open", C.CFUNCTYPE(C.c_int, C.POINTER(Host), C.POINTER(Setup), C.POINTER(P), ERR)),
                ("close", C.CFUNCTYPE(None, P)),
                ("list", C.CFUNCTYPE(C.c_int, P, P, P, PUT, ERR)),
                ("launch", C.CFUNCTYPE(C.c_int, P, P, C.POINTER(Launch), P, PUT, ERR)),
                ("terminate", C.CFUNCTYPE(C.c_int, P, P, C.POINTER(S), N, P, DONE, ERR))]


class Failed(Exception):
    """An operation that did not return OK."""

    def __init__(self, status, error, machines=()):
        self.status, self.code, self.text = STATUS[status], error.code.decode(), error.text.decode()
        self.machines = list(machines)
        super().__init__(f"{self.status} {self.code}: {self.text}")


def kvs(pairs):
    items = [(k.encode(), str(v).encode()) for k, v in (pairs or {}).items()]
    return (Kv * max(len(items), 1))(*[Kv(k, v) for k, v in items]), len(items)


def machine(m):
    return {"id": m.id.decode(), "request_id": m.request_id.decode(), "type": m.offer.decode(),
            "zone": m.zone.decode(), "address": m.address.decode(), "phase": PHASE[m.phase],
            "failure": STATUS[m.failure], "detail": (m.detail or b"").decode(), "spot": m.spot}


class Handle:
    def __init__(self, plugin, self_):
        self.plugin, self.self_ = plugin, self_

    def _run(self, call, timeout):
        """Runs call(put, error) with a deadline; the machines put."""
        found, error = [], Error(size=C.sizeof(Error))
        put = PUT(lambda _, m: found.append(machine(m.contents)))
        self.plugin.deadline = time.monotonic() + timeout
        status = call(put, C.byref(error))
        if status:
            raise Failed(status, error, found)
        return found

    def list(self, timeout=10):
        return self._run(lambda put, e: self.plugin.table.list(self.self_, None, None, put, e), timeout)

    def launch(self, type, request_id, count=1, zone="", spot=False, timeout=10, token=""):
        q = Launch(size=C.sizeof(Launch), offer=type.encode(), zone=zone.encode(),
                   request_id=request_id.encode(), count=count, spot=spot, join_token=token.encode())
        return self._run(lambda put, e: self.plugin.table.launch(self.self_, None, C.byref(q), None, put, e), timeout)

    def terminate(self, ids, timeout=30):
        """{id: status}; ids that were not reported take the returned one."""
        reported, error = {}, Error(size=C.sizeof(Error))
        done = DONE(lambda _, id, status: reported.__setitem__(id.decode(), STATUS[status]))
        array = (S * max(len(ids), 1))(*[i.encode() for i in ids])
        self.plugin.deadline = time.monotonic() + timeout
        status = self.plugin.table.terminate(self.self_, None, array, len(ids), None, done, C.byref(error))
        self.last_error = error.text.decode()
        return {i: reported.get(i, STATUS[status]) for i in ids}

    def close(self):
        self.plugin.table.close(self.self_)
        self.self_ = None


class Plugin:
    def __init__(self, path):
        self.lib = C.CDLL(str(path))
        entry = self.lib.davit_provider_v1
        entry.restype = C.POINTER(Provider)
        self.table = entry().contents
        self.deadline = 0
        self.host = Host(size=C.sizeof(Host), http=HTTP(lambda *a: 10), sleep=SLEEP(self._sleep),
                         remaining_ms=REMAINING(lambda _: self._left()),
                         wall_ms=WALL(lambda: int(time.time() * 1000)), log=LOG(lambda *a: None))

    def _left(self):
        return max(0, int((self.deadline - time.monotonic()) * 1000))

    def _sleep(self, call, ms):
        time.sleep(min(ms, self._left()) / 1000)  # wait: the plug-in asks for it: it is the host's service
        return self._left() > 0

    def open(self, cluster="test", head="127.0.0.1:6379", options=None, types=()):
        """types: [{name, machine, resources, labels, options}]"""
        made = []
        for t in types:
            (r, nr), (l, nl), (o, no) = kvs(t.get("resources")), kvs(t.get("labels")), kvs(t.get("options"))
            made.append(NodeType(size=C.sizeof(NodeType), name=t["name"].encode(), pool=b"",
                                 machine=t.get("machine", "").encode(), resources=r, n_resources=nr,
                                 labels=l, n_labels=nl, min=0, max=0xffffffff, options=o, n_options=no))
        array = (C.POINTER(NodeType) * max(len(made), 1))(*[C.pointer(m) for m in made])
        o, no = kvs(options)
        setup = Setup(size=C.sizeof(Setup), cluster=cluster.encode(), head=head.encode(), options=o,
                      n_options=no, types=array, n_types=len(made))
        self_, error = P(), Error(size=C.sizeof(Error))
        status = self.table.open(C.byref(self.host), C.byref(setup), C.byref(self_), C.byref(error))
        if status:
            raise Failed(status, error)
        return Handle(self, self_)
