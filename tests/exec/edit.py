"""edit.py FILE KEY [VALUE]: sets or removes a key of the example's cloud, under its lock."""
import fcntl
import json
import os
import sys

path, key, *value = sys.argv[1:]
with open(path + ".lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(path) as f:
        state = json.load(f)
    if value:
        state[key] = value[0]
    else:
        state.pop(key, None)
    with open(path + ".edit", "w") as f:
        json.dump(state, f)
    os.replace(path + ".edit", path)
