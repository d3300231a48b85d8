"""Ray's own scheduler as the oracle, on random cases (needs Ray)."""
import os

import ray_differential


def test_same_as_ray():
    seed, cases = "1", os.environ.get("PLAN_WORLDS", "400")
    assert ray_differential.main(["--seed", seed, "--cases", cases]) == 0
