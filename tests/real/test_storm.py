"""Half a minute of the storms that `make storm-real` and `make storm-ray` make for as long as one likes."""
import os
import pathlib
import subprocess
import sys

import pytest

from lib.seeds import seed

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize("program, seconds", [("storm.py", 30), ("ray_storm.py", 30)])
def test_a_short_storm_breaks_no_law(program, seconds):
    """In a process of its own: it starts the daemon beside many threads."""
    p = subprocess.run([sys.executable, HERE / program, "--seconds", str(seconds), "--seed", str(seed())], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, PYTHONPATH=str(HERE.parent)))
    print(p.stdout)
    assert p.returncode == 0 and "0 violations" in p.stdout
