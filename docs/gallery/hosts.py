#!/usr/bin/env python3
"""A pool of hosts of your own as a provider: woken by Wake-on-LAN if they sleep, joined and left by SSH.  See README.md here.

Which host is whose is in one file, written before anything is done.  A thread per host brings it up, so that lists never wait.
"""
import contextlib, fcntl, json, os, shlex, socket, subprocess, sys, threading, time

setup = {"options": {}}
printing, working, busy = threading.Lock(), set(), {}  # busy: a lock per host
REQUESTS_KEPT = 1000  # Davit repeats a launch within minutes

def option(key, default=None):
    return setup["options"].get(key, default)

def say(request, **line):
    with printing:
        print(json.dumps({"id": request["id"], **line}), flush=True)

@contextlib.contextmanager
def pool():
    """What is known of the hosts in use, ours alone meanwhile; on disk before anything is answered.

    hosts: name -> {request_id, type, phase, detail}; requests: id -> names, kept when they have ended."""
    with open(option("state") + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(option("state")) as f:
                state = json.load(f)
        except FileNotFoundError:
            state = {"hosts": {}, "requests": {}}
        yield state
        with open(option("state") + ".new", "w") as f:
            json.dump(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(option("state") + ".new", option("state"))

def all_hosts():
    """{name: (type, address, MAC or "")} of the lines NAME TYPE ADDRESS [MAC]."""
    with open(option("hosts")) as f:
        rows = [line.split("#")[0].split() for line in f]
    return {r[0]: (r[1], r[2], (r + [""])[3]) for r in rows if r}

def wake(mac):
    """The magic packet: six times ff, sixteen times the address."""
    host, port = option("broadcast", "255.255.255.255:9").rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"\xff" * 6 + bytes.fromhex(mac.replace(":", "")) * 16, (host, int(port)))

def on_host(name, address, script, seconds):
    """One script at a time: joining must not overtake leaving."""
    lock = busy.setdefault(name, threading.Lock())
    if not lock.acquire(timeout=25):
        return "it is still joining"
    try:
        return run(address, script, seconds)
    finally:
        lock.release()

def run(address, script, seconds):
    """Runs the script there; "" when it went well, else what to tell people."""
    command = shlex.split(option("ssh", "ssh -o BatchMode=yes -o ConnectTimeout=5")) + [address, "sh -s"]
    try:
        p = subprocess.run(command, input=script, text=True, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f"no end after {seconds:.0f} s"
    return "" if p.returncode == 0 else (p.stdout.strip().splitlines() or [f"exit code {p.returncode}"])[-1][-120:]

def bring_up(name):
    """Until it has joined, or is given back."""
    kind, address, mac = all_hosts()[name]
    script = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in (
        ("RAY_CLOUD_INSTANCE_ID", name), ("RAY_NODE_TYPE_NAME", kind), ("RAY_HEAD", setup.get("head", ""))))
    while True:
        with pool() as state:
            if state["hosts"].get(name, {}).get("phase") != "starting":
                break
        if mac:
            wake(mac)
        problem = on_host(name, address, script + option("join", "true") + "\n", 60)
        with pool() as state:
            host = state["hosts"].get(name)
            if host is None or host["phase"] == "stopping":
                break
            host.update(phase="starting", detail=problem) if problem else host.update(phase="running", detail="")
            if not problem:
                break
        time.sleep(float(option("again", 5)))
    working.discard(name)

def begin(name):
    if name not in working:
        working.add(name)
        threading.Thread(target=bring_up, args=(name,), daemon=True).start()

def show(request, state, request_id=None):
    hosts = all_hosts()
    for name, h in state["hosts"].items():
        if request_id in (None, h["request_id"]):
            address = hosts[name][1] if name in hosts else ""
            say(request, machine={"id": name, "address": address, **{k: h[k] for k in ("request_id", "type", "phase", "detail")}})

def launch(r):
    kinds = {t["name"] for t in setup["types"]}
    if r["type"] not in kinds:
        return {"status": "INVALID", "text": f"there is no node type {r['type']}"}
    with pool() as state:
        mine = state["requests"].setdefault(r["request_id"], [])  # those that have ended count: a repeated call makes no more
        free = [n for n, (kind, *_) in all_hosts().items() if kind == r["type"] and n not in state["hosts"]]
        for name in free[:r["count"] - len(mine)]:
            mine.append(name)
            state["hosts"][name] = {"request_id": r["request_id"], "type": r["type"], "phase": "starting", "detail": ""}
        for old in list(state["requests"])[:-REQUESTS_KEPT]:
            del state["requests"][old]
    for name in mine:
        if state["hosts"].get(name, {}).get("phase") == "starting":
            begin(name)
    show(r, state, r["request_id"])
    return {"status": "OK"} if len(mine) == r["count"] else {"status": "STOCKOUT", "text": f"all hosts of type {r['type']} are in use"}

def give_back(name):
    """Its work has ended: Davit asked the demand source.  It is in use until the host has said so."""
    with pool() as state:
        if name not in state["hosts"]:
            return "NOT_FOUND", ""
        state["hosts"][name]["phase"] = "stopping"
    hosts = all_hosts()
    problem = on_host(name, hosts[name][1], option("leave", "true") + "\n", 30) if name in hosts else ""
    with pool() as state:
        if problem:
            state["hosts"].get(name, {})["detail"] = problem
            return "RETRY", problem
        state["hosts"].pop(name, None)
    return "OK", ""

def terminate(r):
    worst = {"status": "OK"}
    for name in r["ids"]:
        status, text = give_back(name)
        say(r, ended={"id": name, "status": status})
        if text:
            worst = {"status": status, "text": f"{name}: {text}"}
    return worst

def hello(r):
    setup.update(r)
    missing = [k for k in ("hosts", "state") if not option(k)]
    if missing:
        return {"status": "INVALID", "text": f"options.{missing[0]} is needed"}
    with pool() as state:
        for name, h in state["hosts"].items():
            if h["phase"] == "starting":
                begin(name)  # an earlier process was ended meanwhile; join twice does no harm
    return {"status": "OK"}

def serve(r):
    if r["op"] == "list":
        with pool() as state:
            show(r, state)
        return {"status": "OK"}
    if r["op"] == "offers":
        with pool() as state:
            for t in setup["types"]:
                free = sum(kind == t["name"] and n not in state["hosts"] for n, (kind, *_) in all_hosts().items())
                say(r, offer={"type": t["name"], "available": free > 0, "note": "" if free else "all hosts are in use"})
        return {"status": "OK"}
    return {"hello": hello, "launch": launch, "terminate": terminate}[r["op"]](r)

def answer(r):
    try:
        end = serve(r)
    except Exception as e:  # the hosts file cannot be read, the disk is full: nothing was promised
        end = {"status": "RETRY", "text": f"{type(e).__name__}: {e}"[:200]}
    say(r, **end)

for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "terminate":  # SSH takes its time; the next request does not wait for it
        threading.Thread(target=answer, args=(request,)).start()
    else:
        answer(request)
