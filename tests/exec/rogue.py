#!/usr/bin/env python3
"""A provider program that behaves as badly as its first argument says; the second is a scratch folder."""
import json
import os
import signal
import subprocess
import sys
import time

mode, scratch = sys.argv[1:3]
with open(scratch + "/pids", "a") as f:
    f.write(f"{os.getpid()}\n")


def raw(text):
    os.write(1, text.encode())


def say(r, **line):
    raw(json.dumps({"id": r["id"], **line}) + "\n")


def machine(i, **more):
    return {"id": i, "type": "t4", "phase": "running", **more}


def ok(r):
    say(r, status="OK")


def forever():
    while True:
        time.sleep(1)  # wait: it hangs: that is its fault


def runs():
    """How often this program was started so far."""
    return len(open(scratch + "/pids").read().split())


def stubborn(grandchild):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if grandchild:
        p = subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        with open(scratch + "/pids", "a") as f:
            f.write(f"{p.pid}\n")


def act(r, queue):
    op = r["op"]
    if op == "hello":
        if mode == "early":
            print("Traceback\nKeyError: no token", file=sys.stderr, flush=True)
            os._exit(7)
        if mode == "mute":
            forever()
        if mode.startswith("finds"):
            return say(r, status="OK", find="yes" if mode == "finds-yes" else True)
        if mode == "auth":
            return say(r, status="AUTH", code="Expired", text="the token has ended")
        if mode == "gone":
            return say(r, status="NOT_FOUND")
        if mode == "echo":
            with open(scratch + "/hello", "w") as f:
                json.dump({**r, "cwd": os.getcwd(), "env": dict(os.environ), "fds": os.listdir("/proc/self/fd"),
                           "blocked": [x for x in open("/proc/self/status") if x.startswith("SigBlk")]}, f)
        if mode == "hang":
            stubborn(True)
        if mode == "deafmute":  # never reads again
            ok(r)
            forever()
        return ok(r)
    if mode == "garbage":
        return raw("hello world\n") if op == "launch" else ok(r)
    if mode == "binary":
        return raw("\udcff\x00{\n".encode("utf-8", "surrogateescape").decode("latin1")) if op == "launch" else ok(r)
    if mode == "deep":
        return raw("[" * 500000 + "\n")
    if mode == "noobject":
        return raw("[1]\n")
    if mode == "middle" and op == "launch":
        say(r, machine=machine("m-1"))
        raw('{"id":')
        print("boom: out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if mode == "killed" and op == "launch":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "hang":
        if op == "list":
            return ok(r) if runs() > 2 else forever()
        forever()
    if mode == "flood":
        if op != "launch":
            return ok(r)
        try:
            for _ in range(1600):
                os.write(1, b"x" * 65536)
        except BrokenPipeError:
            pass
        forever()
    if mode == "flood-err":
        for _ in range(400):
            os.write(2, b"y" * 4096 + b"\n" + b"z" * 100000)
        return ok(r)
    if mode == "wrong-id":
        return raw('{"id": 999, "status": "OK"}\n')
    if mode == "text-id":
        return raw('{"id": "1", "status": "OK"}\n')
    if mode == "no-id":
        return raw('{"status": "OK"}\n')
    if mode == "neg-id":
        return raw('{"id": -1, "status": "OK"}\n')
    if mode == "late":
        if op == "launch":
            time.sleep(0.6)  # wait: the answer is late: that is its fault
        say(r, machine=machine(op))
        return ok(r)
    if mode == "lazy":  # never answers a launch, all else
        return None if op == "launch" else ok(r)
    if mode == "twice":
        ok(r)
        return ok(r)
    if mode == "endless":
        for i in range(10 ** 6):
            say(r, machine=machine(f"m-{i}"))
        return ok(r)
    if mode == "many":
        raw("".join(json.dumps({"id": r["id"], "machine": machine(f"m-{i}")}) + "\n" for i in range(100000)))
        return ok(r)
    if mode == "reverse":  # answers three at a time, last first, their lines mixed
        queue.append(r)
        if len(queue) == 3:
            for q in reversed(queue):
                say(q, machine=machine("a-" + q["request_id"]))
            for q in queue:
                say(q, machine=machine("b-" + q["request_id"]))
            for q in reversed(queue):
                ok(q)
            queue.clear()
        return None
    if mode == "partial":
        say(r, machine=machine("m-1", phase="starting"))
        return say(r, status="STOCKOUT", code="NoT4", text="two of three", retry_after_ms=1234)
    if mode == "status":
        return say(r, status="FINE")
    if mode == "nulls":
        say(r, machine=machine("m-1", zone=None, request_id=None, detail=None, more={"un": "known"}))
        return say(r, status="OK", code=None, text=None, retry_after_ms=None)
    if mode == "phase":
        say(r, machine={**machine("m-1"), "phase": "booting"})
        say(r, machine=machine("m-2"))
        return ok(r)
    if mode == "types":
        say(r, machine=machine(17))
        return ok(r)
    if mode == "kind":
        say(r, offer={"type": "t4"})
        return ok(r)
    if mode == "failed":
        say(r, machine=machine("m-1") | {"phase": "failed", "failure": "STOCKOUT", "detail": "no T4 left"})
        return ok(r)
    if mode == "ends":
        if op == "terminate":
            say(r, ended={"id": r["ids"][0], "status": "OK"})
            return say(r, status="RETRY", text="the second one is busy")
        return ok(r)
    if op == "find" and mode.startswith("finds"):
        said = {"finds": ["OK", "NOT_FOUND"], "finds-half": ["NOT_FOUND"], "finds-less": ["NOT_FOUND"], "finds-mad": ["GONE"], "finds-word": []}[mode]
        for i, status in zip(r["ids"], said):
            say(r, found={"id": i, "status": status})
        if mode == "finds-word":
            say(r, ended={"id": r["ids"][0], "status": "NOT_FOUND"})
        return say(r, status="RETRY", text="the second one is busy") if mode == "finds-half" else ok(r)
    if op == "find":
        sys.exit(5)  # as a program that does not know what that is
    if mode == "offers":
        say(r, offer={"type": "t4", "zone": "a", "price": 0.35, "spot": True,
                      "quotas": [{"name": "G vCPUs", "left": 32, "each": 4}, {"name": "machines", "left": 9}]})
        say(r, offer={"type": "t4", "zone": "b", "available": False})
        return ok(r)
    if mode == "leaves":  # ends itself whenever it has nothing to do
        ok(r)
        sys.exit(0)
    if mode == "shut":
        os.close(1)
        forever()
    if mode == "slow":
        time.sleep(120)  # wait: it is slow: that is its fault
        return ok(r)
    return ok(r)


queue = []
for text in sys.stdin:
    act(json.loads(text), queue)
if mode == "stays":  # after its stdin has ended, deaf to SIGTERM
    stubborn(False)
    forever()
