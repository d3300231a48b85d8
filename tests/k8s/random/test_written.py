"""Small clusters that are written down (written.py), judged by the real kube-scheduler; of `make check-long`, as they take a quarter of an hour."""
import pytest

from judge import judge
from written import WORLDS


@pytest.mark.parametrize("name", WORLDS)
def test_a_written_world(plane, tmp_path, name):
    judge(plane, WORLDS[name], brute=True, keep=tmp_path)
