#!/usr/bin/env python3
"""A whole provider in 60-odd lines: a cloud that is a JSON file.  The protocol is told in docs/exec.md."""
import contextlib, fcntl, json, os, sys, time

setup = {}  # what hello brought: cluster, options, types

def say(request, **line):
    print(json.dumps({"id": request["id"], **line}), flush=True)

@contextlib.contextmanager
def cloud():
    """The cloud's state, ours alone meanwhile; on disk before anything is answered."""
    path = setup["options"]["file"]
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = json.load(open(path)) if os.path.exists(path) else {"machines": {}, "requests": {}}
        yield state
        with open(path + ".new", "w") as new:
            json.dump(state, new)
        os.replace(path + ".new", path)

def machine(m):
    up = time.time() - m["born"] >= float(setup["options"].get("boot", 0))
    return {"phase": "running" if up else "starting", **{k: m[k] for k in ("id", "request_id", "type", "zone", "spot")}}

def meet(r, state):
    """Which daemons of this cluster are at work: each leaves the time by its name."""
    left = state.setdefault("daemons", {}).setdefault(setup["cluster"], {})
    for name in [name for name in left if r["op"] == "list" and name != r.get("daemon")]:
        say(r, daemon={"name": name, "stamp": left[name]})
    if r.get("daemon"):
        left[r["daemon"]] = int(time.time())

def launch(r, state):
    if r["type"] not in [t["name"] for t in setup["types"]]:
        return {"status": "INVALID", "text": f"there is no type {r['type']}"}
    if "fail" in state:  # a test writes {"fail": "STOCKOUT"} into the file
        return {"status": state["fail"], "code": "Injected", "text": "the file says so"}
    # The same request id makes the same machines, once, also when some have ended since.
    if r["request_id"] not in state["requests"]:
        ids = state["requests"][r["request_id"]] = [f"{r['request_id']}-{i}" for i in range(r["count"])]
        for i in ids:
            state["machines"][i] = {**r, "id": i, "cluster": setup["cluster"], "born": time.time()}
    return {"status": "OK"}

def serve(r):
    if r["op"] == "hello":
        setup.update(r)
        return {"status": "OK", "find": True}
    elif r["op"] == "offers":
        for t in setup["types"]:
            say(r, offer={"type": t["name"], "price": float(t["options"].get("price", 0.5))})
    elif r["op"] in ("terminate", "find"):
        with cloud() as state:
            had = [(i, i in state["machines"]) for i in r["ids"]]
            for i in r["ids"] if r["op"] == "terminate" else []:
                state["machines"].pop(i, None)
        for i, was in had:
            say(r, **{"ended" if r["op"] == "terminate" else "found": {"id": i, "status": "OK" if was else "NOT_FOUND"}})
    else:  # list, launch
        with cloud() as state:
            meet(r, state)
            end = launch(r, state) if r["op"] == "launch" else {"status": "OK"}
        for m in state["machines"].values():
            if m["cluster"] == setup["cluster"] and r.get("request_id") in (None, m["request_id"]):
                say(r, machine=machine(m))
        return end
    return {"status": "OK"}

for text in sys.stdin:
    request = json.loads(text)
    say(request, **serve(request))
