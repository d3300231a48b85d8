"""The example, except that its lists lack the machines that the cloud's file names: {"hidden": [...]}."""
import json
import pathlib
import sys

sys.argv[0] = str(pathlib.Path(__file__).resolve().parents[2] / "providers/exec/example.py")
source = open(sys.argv[0]).read()
say = "def say(request, **line):\n"
assert say in source
source = source.replace(say, say + '    if "machine" in line and hidden(line["machine"]["id"]): return\n')


def hidden(machine):
    with open(setup["options"]["file"]) as f:
        return machine in json.load(f).get("hidden", [])


exec(compile(source, sys.argv[0], "exec"))
