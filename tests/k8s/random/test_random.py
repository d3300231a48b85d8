"""Random worlds judged by the real kube-scheduler: a fixed set, and those that broke a law once.

`make storm-k8s SECONDS=600` draws others; tests/k8s/random/storm.py --seed N plays one again.
"""
import json
import pathlib

import pytest

import world as worlds
from judge import judge

FOUND = sorted(pathlib.Path(__file__).with_name("found").glob("*.json"))
SEEDS = range(1, 6)  # three minutes; `make storm-k8s` plays more


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world(plane, tmp_path, seed):
    judge(plane, worlds.draw(seed), brute=seed % 4 == 0, keep=tmp_path)


@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.stem)
def test_a_world_that_broke_a_law(plane, tmp_path, path):
    judge(plane, json.loads(path.read_text()), keep=tmp_path)
