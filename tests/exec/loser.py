"""The example, except that it dies between a deed and its answer once the cloud's file says {"lose": "now"}."""
import json
import os
import sys

sys.argv[0] = "providers/exec/example.py"
source = open(sys.argv[0]).read()
say = "def say(request, **line):\n"
assert say in source
source = source.replace(say, say + '    dies(request)\n')


def dies(request):
    if request["op"] != "launch":
        return
    path = setup["options"]["file"]
    with open(path) as f:
        state = json.load(f)
    if state.pop("lose", None):
        with open(path, "w") as f:
            json.dump(state, f)
        os._exit(9)


exec(compile(source, sys.argv[0], "exec"))
