"""`davit plan` on a snapshot, as JSON."""
import json
import subprocess
import tempfile

from lib import DAVIT


def davit_plan(snapshot, *args):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(snapshot, f)
        f.flush()
        p = subprocess.run([DAVIT, "plan", "--json", *args, f.name], text=True, capture_output=True, timeout=120)
    assert p.stdout.startswith("{"), f"exit {p.returncode}: {p.stderr[:500]}"
    return p.stdout
