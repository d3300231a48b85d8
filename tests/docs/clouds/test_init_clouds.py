"""`davit init --provider`: what the clouds' own test servers say of a pool, through the plug-ins."""
import os
import subprocess
import sys

import pytest
import yaml

from lib import DAVIT, ROOT

sys.path.append(str(ROOT / "tests/e2e/clouds"))


def init(folder, side, *words):
    """The configuration it wrote, and what it said; run again, `davit validate` takes it."""
    env = {**os.environ, **side.environment(folder)}
    p = subprocess.run([DAVIT, "init", "--force", "--output", "out.yaml", "--provider", side.name, *words], cwd=folder,
                       env=env, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert not [s for s in side.secrets if s in p.stderr + (folder / "out.yaml").read_text()]
    subprocess.run([DAVIT, "validate", "out.yaml"], cwd=folder, env=env, check=True, capture_output=True)
    return yaml.safe_load((folder / "out.yaml").read_text()), p.stderr


def settings(side):
    """The provider's line of the test server, as --set wants it."""
    found = yaml.safe_load(side.words()[0])[side.name]
    return [w for k, v in found.items() if not isinstance(v, dict) for w in ("--set", f"{k}={v}")]


def test_gke(tmp_path):
    from gke_side import Gke
    with Gke() as side:
        got, said = init(tmp_path, side, *settings(side), "--pool", "cpu", "--pool", "gpu")
        assert side.rejected() == []
    assert got["cluster"] == "c1" and got["providers"]["gke"]["project"] == "my-proj"
    gpu = got["node_types"]["gpu"]
    assert gpu["resources"]["GPU"] == 1 and gpu["accelerator_type"] == "T4" and gpu["zones"] == list(side.zones)
    assert gpu["taints"] == ["nvidia.com/gpu=present:NoSchedule"] and gpu["pool"] == "gpu"
    assert got["node_types"]["cpu"]["resources"]["CPU"] == 8 and "max" in said


def test_eks(tmp_path):
    from eks_side import Eks
    with Eks() as side:
        try:
            name = side.cloud.names["t4_a"]
            got, _ = init(tmp_path, side, *settings(side), "--pool", name)
            assert side.rejected() == []
        finally:
            Eks.close()
            Eks.cloud = None  # the next test starts its own
    assert got["node_types"][name]["resources"]["GPU"] == 1 and got["providers"]["eks"]["region"] == "us-east-1"


def test_aks(tmp_path):
    """One size its test server knows, and one of which it says nothing: that is told."""
    from aks_side import Aks
    with Aks() as side:
        got, said = init(tmp_path, side, *settings(side), "--pool", "cpu", "--pool", "gpu")
        assert side.rejected() == []
    assert got["node_types"]["gpu"]["resources"]["GPU"] == 1
    assert "pool cpu: the cloud does not say what its machines have" in said


@pytest.mark.parametrize("words, code, text", [
    (["--pool", "x"], 2, "need --provider"),
    (["--provider", "gke"], 2, "needs --pool"),
    (["--provider", "gke", "--pool", "x", "--set", "project"], 3, "KEY=VALUE"),
    (["--provider", "gke", "--pool", "x", "--set", "projct=y"], 3, "project"),
    (["--provider", "gek", "--pool", "x"], 3, "gke"),
])
def test_mistakes(words, code, text, tmp_path):
    p = subprocess.run([DAVIT, "init", *words], cwd=tmp_path, capture_output=True, text=True)
    assert p.returncode == code and text in p.stderr and not (tmp_path / "davit.yaml").exists(), p.stderr
