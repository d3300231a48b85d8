"""Ray's own scheduler as the oracle, on random cases (needs Ray)."""
import os

import ray_differential


def test_same_as_ray():
    seed = os.environ.get("PLAN_SEED", "1")
    assert ray_differential.main(["--seed", seed, "--cases", "400"]) == 0
