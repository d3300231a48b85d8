"""The file that a simulated cloud (provider sim) is: changed as the daemon changes it, under its lock, so that no change is lost."""
import contextlib
import fcntl
import json
import pathlib

NEW = '{"davit_sim": 1, "machines": [], "requests": {}, "attempts": {}}'


@contextlib.contextmanager
def changed(path):
    """with changed(path) as cloud: what is done to `cloud`, its JSON, is there afterwards."""
    path = pathlib.Path(path)
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cloud = json.loads(path.read_text() if path.exists() else NEW)
        yield cloud
        new = path.with_suffix(".edited")
        new.write_text(json.dumps(cloud))
        new.replace(path)


def faults(path, **kw):
    """These faults, and no others, from now on."""
    with changed(path) as cloud:
        cloud["faults"] = kw
