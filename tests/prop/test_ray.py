"""Ray's own scheduler as the oracle, on random cases (needs Ray)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ray_differential  # noqa: E402


def test_same_as_ray():
    seed = os.environ.get("PLAN_SEED", "1")
    assert ray_differential.main(["--seed", seed, "--cases", "400"]) == 0
