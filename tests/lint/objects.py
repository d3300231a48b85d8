"""The object files of build/release, as nm sees them: what each defines and uses."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def root_of(argv):
    """A lint looks at the tree it is given, or at its own."""
    return os.path.abspath(argv[1] if len(argv) > 1 else os.path.join(HERE, "../.."))


def sources(root, *tops):
    """All .c files below these folders, by their path from the root."""
    return sorted(os.path.relpath(os.path.join(folder, name), root) for top in tops
                  for folder, _, names in os.walk(os.path.join(root, top)) for name in names if name.endswith(".c"))


class Object:
    """defines: {symbol: nm's letter}, capital when other files see it; uses: symbols of others."""

    def __init__(self, source):
        self.source, self.defines, self.uses = source, {}, set()

    def shows(self):
        return {s for s, letter in self.defines.items() if letter.isupper()}


def object_path(root, source):
    folder = source.replace("autoscaler/kit/", "kit/", 1)
    return os.path.join(root, "build/release", folder[:-2] + ".o")


def read(root, *tops):
    """[Object] of what is built below these folders; a source without one is an error."""
    found = {object_path(root, s): Object(s) for s in sources(root, *tops)}
    missing = [o for o in found if not os.path.exists(o)]
    if missing or not found:
        sys.exit(f"no object of {', '.join(tops)}: {', '.join(missing[:3])}: `make all` first")
    out = subprocess.run(["nm", "-A", "-P", *found], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        path, rest = line.split(": ", 1)
        symbol, letter = rest.split()[:2]
        if letter == "U":
            found[path].uses.add(symbol)
        else:
            found[path].defines[symbol] = letter
    return list(found.values())


def report(name, bad, good):
    """A lint's end: what is wrong on stderr, or one line that says how much was looked at."""
    print("\n".join(f"{name}: {b}" for b in bad) if bad else f"{name}: {good}", file=sys.stderr if bad else sys.stdout)
    return 1 if bad else 0
