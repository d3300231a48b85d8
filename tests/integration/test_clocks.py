"""What the tests' own clocks (aids/clocks.c) do to a daemon's waits."""
import os
import subprocess

from lib import PATIENCE, TESTS
from lib.clocks import Clocks

WAITS_MS = 20000  # aids/wakes.c: to its own end


def test_a_wake_up_between_two_slices_is_not_lost(tmp_path):
    """A watch of a kind that is missing pauses for five minutes: with its wake-up lost a daemon ended that much later."""
    program = tmp_path / "wakes"
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", "-o", program, TESTS / "integration/aids/wakes.c", "-lpthread"],
                   check=True)
    slept = subprocess.run([program], env={**os.environ, **Clocks(tmp_path).env}, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE)
    assert int(slept.stdout) < WAITS_MS / 2, f"it slept {slept.stdout.strip()} ms on, with what it waited for there"
