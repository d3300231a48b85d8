"""A real Ray cluster on this machine, for tests.

    from lib import raycluster
    raycluster.enter_namespace()            # at the top of a conftest or script
    with raycluster.RayCluster() as ray:    # a head, about 4 s
        ray.add_worker("w1", gpus=1, type="t4")
        print(ray.run("import ray; ray.init(); print(ray.nodes())"))
        print(ray.status())

Ray listens on every interface without a password, so it runs only where there
is no other interface than lo: enter_namespace() re-executes the program in a
network namespace of its own, and start() refuses to run outside one.

Everything a cluster starts carries its own mark in the environment; stop()
ends exactly the processes that carry it, by id, and removes its directories.
A parent that is killed takes its `ray start` with it (PR_SET_PDEATHSIG).
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import uuid

from lib import PATIENCE, ends_with_us, is_alive, until

MARK = "DAVIT_RAYCLUSTER"
# Of a head whose autoscaler has the fake provider: ray/cluster_utils.py
FAKE_HEAD = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_CLOUD_INSTANCE_ID": "f" * 51 + "00000",
             "RAY_OVERRIDE_NODE_ID_FOR_TESTING": "f" * 51 + "00000", "RAY_NODE_TYPE_NAME": "ray.head.default"}


# ---- the namespace --------------------------------------------------------

def in_namespace():
    """Is lo the only interface, and is it up?"""
    names = {name for _, name in socket.if_nameindex()}
    return names == {"lo"} and lo_is_up()


def lo_is_up():
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        ifreq = fcntl.ioctl(s, 0x8913, struct.pack("16sh14x", b"lo", 0))  # SIOCGIFFLAGS
    return bool(struct.unpack("16sh14x", ifreq)[1] & 1)


def lo_up():
    """SIOCSIFFLAGS IFF_UP on lo: needs no ip(8)."""
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))


def enter_namespace():
    """Re-executes this program under `unshare -n` unless it is in a namespace
    with only lo already.  Call it before anything is started."""
    if in_namespace():
        return
    if os.environ.get("DAVIT_IN_NETNS"):  # we are inside: raise lo
        lo_up()
        return
    argv = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    flag = "-n" if os.geteuid() == 0 else "-rn"
    os.environ["DAVIT_IN_NETNS"] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp("unshare", ["unshare", flag, *[os.fsdecode(a) for a in argv]])


def ray_bin():
    """Where Ray's commands are: $DAVIT_RAY_VENV, this interpreter's own
    directory (as `make check` runs it), $PATH, the set-up's cache."""
    cache = pathlib.Path(os.environ.get("DAVIT_CACHE") or os.path.expanduser("~/.cache/davit"))
    found = shutil.which("ray")
    places = [pathlib.Path(os.environ["DAVIT_RAY_VENV"], "bin")] if "DAVIT_RAY_VENV" in os.environ else [
        pathlib.Path(sys.executable).parent, *([pathlib.Path(found).parent] if found else []),
        *(p / "bin" for p in sorted(cache.glob("venv-*")))]
    for path in places:
        if (path / "ray").exists() and (path / "python").exists():
            return path
    raise RuntimeError(f"no Ray in {', '.join(map(str, places))}: run tests/setup.sh test, or set "
                       "DAVIT_RAY_VENV to an environment with ray[default]")


# ---- processes ------------------------------------------------------------

def _marked(mark, sessions=()):
    """The ids of the processes that carry our mark, or are of these sessions:
    Ray's agents write their titles over their environment."""
    want = f"{MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            env = pathlib.Path("/proc", entry, "environ").read_bytes()
            stat = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if (want in env.split(b"\0") or int(stat[3]) in sessions) and stat[0] != "Z":
            yield int(entry)


def _end(pids, grace):
    """SIGTERM, then SIGKILL for what is left after `grace` seconds."""
    for sig, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, PATIENCE)):
        left = pids()
        for pid in left:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        with contextlib.suppress(AssertionError):
            until(lambda: not pids(), wait)


def sweep():
    """Directories of clusters whose program was killed before its stop()."""
    for path in pathlib.Path(tempfile.gettempdir()).glob("dray-*-*"):
        pid = path.name.split("-")[1]
        if pid.isdigit() and not is_alive(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


# ---- the wire, read without any of the code under test ---------------------

def _fields(data):
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        elif kind == 2:
            n = varint()
            yield key >> 3, data[at:at + n]
            at += n
        elif kind == 5:
            yield key >> 3, data[at:at + 4]
            at += 4
        else:
            raise ValueError(f"wire type {kind}")


def _pair(data):
    d = dict(_fields(data))
    value = d.get(2, b"")
    return d.get(1, b"").decode(), value.decode() if isinstance(value, bytes) else value


def _resources(pairs):
    return {k: v or 0.0 for k, v in pairs}


STATUS = ["UNSPECIFIED", "RUNNING", "DEAD", "IDLE", "DRAINING"]


class Node(dict):
    """One node as the head has it: id, instance_id, type, status, total,
    available, labels, idle_ms, address, activity, head."""
    __getattr__ = dict.__getitem__


def _node(data):
    node = Node(id="", instance_id="", type="", status="UNSPECIFIED", total={},
                available={}, labels={}, dynamic_labels={}, idle_ms=0, address="", activity=[])
    names = {2: "instance_id", 3: "type", 10: "address"}
    for number, value in _fields(data):
        if number == 1:
            node["id"] = value.hex()
        elif number in names:
            node[names[number]] = value.decode()
        elif number in (4, 5):
            k, v = _pair(value)
            node["available" if number == 4 else "total"][k] = v or 0.0
        elif number in (6, 13):
            k, v = _pair(value)
            node["dynamic_labels" if number == 6 else "labels"][k] = v
        elif number == 8:
            node["status"] = STATUS[value]
        elif number == 9:
            node["idle_ms"] = value
        elif number == 12:
            node["activity"].append(value.decode())
    node["head"] = "node:__internal_head__" in node["total"]
    return node


# ---- the cluster ----------------------------------------------------------

class Worker:
    def __init__(self, name, process, instance_id, tmp):
        self.name, self.process, self.instance_id, self.tmp = name, process, instance_id, tmp


class RayCluster:
    """A head, and as many raylets as you add.

    port        the GCS port (6390)
    cpus, gpus  what the head offers (0 GPUs)
    resources   more of the head's resources
    token       a string turns token authentication on
    tls         True: mutual TLS, with a CA of our own (needs openssl(1))
    env         more environment for head, workers and drivers
    head_env    likewise, for the head alone
    dashboard   starts the dashboard (slower; off)
    autoscaler  {type: (resources, most)}: Ray's own autoscaler runs, with its
                fake provider: a raylet of that type for each node it launches
    idle_s      how long it leaves a node idle
    """

    def __init__(self, port=6390, cpus=1, gpus=0, resources=None, labels=None,
                 token=None, tls=False, env=None, dashboard=False, dashboard_port=8291,
                 object_store=80_000_000, log=None, autoscaler=None, idle_s=6, head_env=None):
        self.port, self.cpus, self.gpus = port, cpus, gpus
        self.resources, self.labels = resources or {}, labels or {}
        self.token, self.tls, self.extra_env, self.head_env = token, tls, env or {}, head_env or {}
        self.dashboard, self.dashboard_port = dashboard, dashboard_port
        self.object_store = object_store
        self.log = log
        self.autoscaler, self.idle_s = autoscaler, idle_s
        self.mark = uuid.uuid4().hex[:12]
        self.sessions = set()   # that we started: `ray start` leads one
        self.dir = None
        self.head = None
        self.workers = {}
        self.drivers = []
        self._address_n = 1

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.stop()

    def environment(self, **more):
        """For programs that speak to this cluster (and for our own)."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        env.update({
            MARK: self.mark,
            "PATH": f"{ray_bin()}:{env.get('PATH', '')}",
            "HOME": str(self.dir / "home"),
            "RAY_enable_autoscaler_v2": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": self.address,
            "RAY_COLOR_PREFIX": "0",
            "PYTHONUNBUFFERED": "1",
            # a laptop's disk is often 95 % full; that is not what we test
            "RAY_local_fs_capacity_threshold": "1.0",
            "RAY_prestart_worker_first_driver": "0",
        })
        if self.token:
            env.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=self.token)
        if self.tls:
            env.update(self.tls_environment())
        env.update(self.extra_env)
        env.update(more)
        return {k: v for k, v in env.items() if v is not None}

    def tls_environment(self):
        return {"RAY_USE_TLS": "1", "RAY_TLS_CA_CERT": str(self.dir / "ca.crt"),
                "RAY_TLS_SERVER_CERT": str(self.dir / "node.crt"), "RAY_TLS_SERVER_KEY": str(self.dir / "node.key")}

    def make_certificates(self):
        """A CA, and one certificate that head and clients share."""
        (self.dir / "ext").write_text("subjectAltName=IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3,DNS:localhost\n")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for argv in (
            ["req", "-x509", *key, "-days", "2", "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.crt"],
            ["req", *key, "-subj", "/CN=node", "-keyout", "node.key", "-out", "node.csr"],
            ["x509", "-req", "-in", "node.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
             "-extfile", "ext", "-out", "node.crt"],
        ):
            subprocess.run(["openssl", *argv], cwd=self.dir, check=True, capture_output=True)

    # -- the head

    def start(self):
        if not in_namespace():
            raise RuntimeError("Ray would listen on a real interface: call "
                               "raycluster.enter_namespace() first")
        if self.dir is None:
            sweep()
            self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"dray-{os.getpid()}-"))
            (self.dir / "home").mkdir()
            if self.tls:
                self.make_certificates()
        try:
            self.start_head()
        except BaseException:
            self.stop()  # nobody else has it yet
            raise
        return self

    def start_head(self):
        tmp = self.dir / f"h{len(list(self.dir.glob('h[0-9]*')))}"
        argv = ["ray", "start", "--head", "--block",
                f"--autoscaling-config={self.autoscaler_file()}" if self.autoscaler else "--no-monitor",
                f"--port={self.port}", "--node-ip-address=127.0.0.1",
                f"--num-cpus={self.cpus}", f"--num-gpus={self.gpus}",
                f"--object-store-memory={self.object_store}",
                f"--temp-dir={tmp}", "--disable-usage-stats",
                "--include-log-monitor=false",
                f"--include-dashboard={str(self.dashboard).lower()}"]
        if self.dashboard:
            argv += ["--dashboard-host=127.0.0.1", f"--dashboard-port={self.dashboard_port}"]
        if self.resources:
            argv.append(f"--resources={json.dumps(self.resources)}")
        if self.labels:
            argv.append("--labels=" + ",".join(f"{k}={v}" for k, v in self.labels.items()))
        kind = FAKE_HEAD if self.autoscaler else {"RAY_NODE_TYPE_NAME": "head"}
        env = self.environment(RAY_ADDRESS=None,
                               # keeps the head on 127.0.0.1
                               RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", **kind, **self.head_env)
        self.head = self._launch(argv, env, "head")
        self.wait(lambda: any(n.head and n.status != "DEAD" for n in self.nodes()), 150,
                  "the head's own node", self.head, "head")

    def autoscaler_file(self):
        """As ray.cluster_utils.AutoscalingCluster makes it, which ends every Ray of the machine first."""
        path = self.dir / "autoscaler.json"
        kinds = {name: {"resources": {**resources, "object_store_memory": self.object_store}, "node_config": {},
                        "min_workers": 0, "max_workers": most}
                 for name, (resources, most) in self.autoscaler.items()}
        kinds["ray.head.default"] = {"resources": {"CPU": self.cpus}, "node_config": {}, "max_workers": 0}
        nothing = ("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
                   "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude",
                   "rsync_filter")
        path.write_text(json.dumps({
            "cluster_name": "fake", "max_workers": sum(most for _, most in self.autoscaler.values()),
            "idle_timeout_minutes": self.idle_s / 60, "upscaling_speed": 1.0, "docker": {}, "auth": {},
            "file_mounts": {}, "file_mounts_sync_continuously": False, "head_node_type": "ray.head.default",
            "provider": {"type": "external", "disable_node_updaters": True,
                         "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
                         "gcs_address": self.address, "launch_multiple": True,
                         "head_node_id": FAKE_HEAD["RAY_CLOUD_INSTANCE_ID"]},
            "available_node_types": kinds, **{key: [] for key in nothing}}))
        return path

    def stop_head(self, sig=signal.SIGKILL):
        """The head and its children, at once; the workers stay as they are."""
        if self.head is None:
            return
        mine = self.family(self.head.pid)
        for pid in mine:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        self.head.wait(20)
        _end(lambda: [p for p in mine if is_alive(p)], 5)
        self.head = None

    def restart_head(self):
        """A new cluster id on the same address; the old workers are gone."""
        for name in list(self.workers):
            self.kill_worker(name)
        self.stop_head()
        self.start_head()

    def stop(self):
        if self.dir is None:
            return
        _end(lambda: list(_marked(self.mark, self.sessions)), 0)
        for p in [self.head, *(w.process for w in self.workers.values()), *self.drivers]:
            if p is not None:
                p.wait(10)
        self.workers.clear()
        self.drivers.clear()
        self.head = None
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir = None

    # -- workers

    def add_worker(self, name, cpus=1, gpus=0, type="worker", resources=None, labels=None,
                   instance_id=None, instance_type="", memory=None, accelerator=None, wait=True, env=None):
        """A raylet that says it has `gpus` GPUs.  accelerator="T4" adds what a
        real T4 would have brought: the resource and the label."""
        resources, labels = dict(resources or {}), dict(labels or {})
        if accelerator:
            resources.setdefault(f"accelerator_type:{accelerator}", 1)
            labels.setdefault("ray.io/accelerator-type", accelerator)
        instance_id = instance_id or f"i-{name}"
        self._address_n += 1
        tmp = self.dir / f"w{self._address_n}"
        argv = ["ray", "start", "--block", f"--address={self.address}",
                f"--node-ip-address=127.0.0.{self._address_n}", f"--node-name={name}",
                f"--num-cpus={cpus}", f"--num-gpus={gpus}",
                f"--object-store-memory={self.object_store}",
                "--min-worker-port=0", "--max-worker-port=0",
                f"--temp-dir={tmp}", "--disable-usage-stats", "--include-log-monitor=false"]
        if resources:
            argv.append(f"--resources={json.dumps(resources)}")
        if labels:
            argv.append("--labels=" + ",".join(f"{k}={v}" for k, v in labels.items()))
        more = {"RAY_CLOUD_INSTANCE_ID": instance_id, "RAY_NODE_TYPE_NAME": type,
                "RAY_CLOUD_INSTANCE_TYPE_NAME": instance_type}
        if memory:
            argv.append(f"--memory={memory}")
        process = self._launch(argv, self.environment(**more, **(env or {})), name)
        worker = self.workers[name] = Worker(name, process, instance_id, tmp)
        if wait:
            self.wait(lambda: self.node(instance_id) is not None, 60, f"worker {name}", process, name)
        return worker

    def kill_worker(self, name, sig=signal.SIGKILL):
        """SIGKILL ends the raylet and all below it at once (the head notices
        after some 13 s); SIGTERM lets `ray start` end it in order."""
        worker = self.workers.pop(name)
        mine = self.family(worker.process.pid)
        if sig == signal.SIGTERM:
            worker.process.terminate()
        else:
            for pid in mine:
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
        try:
            worker.process.wait(20)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        _end(lambda: [p for p in mine if is_alive(p)], 2)
        shutil.rmtree(worker.tmp, ignore_errors=True)

    def kill_raylet(self, name, sig=signal.SIGKILL):
        """Only the raylet process of a worker."""
        pid = self._process(self.workers[name].process.pid, "raylet")
        os.kill(pid, sig)
        return pid

    def gcs(self):
        """The head's process that answers an autoscaler."""
        return self._process(self.head.pid, "gcs_server")

    # -- what it says

    def call(self, method, message=b"", service="ray.rpc.autoscaler.AutoscalerStateService"):
        """One unary gRPC call with curl(1); the reply's bytes, or None."""
        frame = b"\0" + struct.pack(">I", len(message)) + message
        argv = ["curl", "-s", "--max-time", "5", "--noproxy", "*", "--http2-prior-knowledge",
                "-H", "content-type: application/grpc", "-H", "te: trailers",
                "--data-binary", "@-", f"http{'s' if self.tls else ''}://{self.address}/{service}/{method}"]
        if self.tls:
            argv[argv.index("--http2-prior-knowledge")] = "--http2"
            argv[1:1] = ["--cacert", self.dir / "ca.crt", "--cert", self.dir / "node.crt", "--key", self.dir / "node.key"]
        if self.token:
            argv[1:1] = ["-H", f"authorization: Bearer {self.token}"]
        reply = subprocess.run(argv, input=frame, stdout=subprocess.PIPE, env=self.environment())
        return reply.stdout[5:] if reply.returncode == 0 and len(reply.stdout) >= 5 else None

    def state(self):
        """The reply of GetClusterResourceState: a list of (field, value)."""
        reply = self.call("GetClusterResourceState")
        for number, value in _fields(reply or b""):
            if number == 1:
                return list(_fields(value))
        return []

    def nodes(self, dead=True):
        found = [_node(value) for number, value in self.state() if number == 3]
        return found if dead else [n for n in found if n.status != "DEAD"]

    def node(self, instance_id):
        """The living node of this instance, or None."""
        for n in self.nodes(dead=False):
            if n.instance_id == instance_id:
                return n
        return None

    def pending(self):
        """Shapes of waiting tasks and actors: [(resources, count)]."""
        out = []
        for number, value in self.state():
            if number == 4:
                d = dict(_fields(value))
                resources = [_pair(v) for n, v in _fields(d.get(1, b"")) if n == 1]
                out.append((_resources(resources), d.get(2, 0)))
        return out

    def status(self, verbose=False):
        """What `ray status` prints."""
        argv = ["ray", "status", f"--address={self.address}"] + (["-v"] if verbose else [])
        done = subprocess.run(argv, env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=150)
        if done.returncode:
            raise RuntimeError(f"ray status failed:\n{done.stdout}")
        return done.stdout

    # -- drivers

    def spawn(self, code, **env):
        """A driver in the background: a Popen whose output is at .log (a
        path); it ends when you end it, or with the cluster."""
        n = len(self.drivers)
        script = self.dir / f"driver-{n}.py"
        script.write_text(textwrap.dedent(code))
        log = self.dir / f"driver-{n}.log"
        with open(log, "wb") as out:
            p = subprocess.Popen(ends_with_us([ray_bin() / "python", script], "TERM"), env=self.environment(**env),
                                 cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        p.log = log
        self.drivers.append(p)
        return p

    def run(self, code, timeout=200, **env):
        """A driver to its end; its output.  Fails when it fails."""
        p = self.spawn(code, **env)
        try:
            rc = p.wait(timeout)
        except subprocess.TimeoutExpired:
            self.end(p)
            raise AssertionError(f"the driver took over {timeout} s:\n{p.log.read_text()}") from None
        self.drivers.remove(p)
        if rc:
            raise AssertionError(f"the driver failed ({rc}):\n{p.log.read_text()}")
        return p.log.read_text()

    def end(self, driver):
        """Ends a driver as Ctrl-C would, so that its actors end too."""
        if driver.poll() is None:
            driver.send_signal(signal.SIGTERM)
            try:
                driver.wait(10)
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()
        if driver in self.drivers:
            self.drivers.remove(driver)

    # -- waiting

    def wait(self, condition, timeout=150, what="it", process=None, log=None, every=0.1):
        """Until condition() is true; its value.  Says what it waited for."""
        def said():
            path = self.dir / f"{log}.log"
            return f"\n{path.read_text()[-3000:]}" if log and path.exists() else ""

        def came():
            value = condition()
            assert value or process is None or process.poll() is None, f"{what}: the process ended{said()}"
            return value
        return until(came, timeout, lambda: what + said(), every)

    # -- inside

    def _launch(self, argv, env, name):
        with open(self.dir / f"{name}.log", "ab") as out:
            p = subprocess.Popen(ends_with_us([ray_bin() / argv[0], *argv[1:]], "TERM"), env=env, cwd=self.dir,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        self.sessions.add(p.pid)
        return p

    def _process(self, above, name):
        for pid in self.family(above):
            if _comm(pid) == name:
                return pid
        raise RuntimeError(f"there is no {name} below process {above}")

    def family(self, pid):
        """pid and what it started, however far down."""
        children = {}
        for p in _marked(self.mark, self.sessions):
            try:
                stat = pathlib.Path(f"/proc/{p}/stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(p)
        out, todo = [], [pid]
        while todo:
            p = todo.pop()
            out.append(p)
            todo += children.get(p, [])
        return out


def _comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
