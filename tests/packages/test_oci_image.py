"""`make image`: the OCI layout, read by programs of others (skopeo, umoci) and run in a chroot.

The root file system itself is looked at in tests/integration/test_image.py.
"""
import json
import os
import re
import subprocess

import pytest

from lib import ROOT
from packages.test_install import make

CONFIGS = ROOT / "configs"


def run(*words, **more):
    out = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **more)
    assert out.returncode == 0, f"{words}: {out.stdout}{out.stderr}"
    return out.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """(layout:tag, what make printed)"""
    where = tmp_path_factory.mktemp("image") / "image"
    told = make("image", f"OUT={where}", "UNPATCHED=told")  # the gate itself: test_supply.py
    version = re.search(r"davit:(\S+) ", told)[1]
    return where, version, re.search(r"sha256:[0-9a-f]{64}", told)[0]


def test_skopeo_takes_every_byte(image, tmp_path):
    """A copy checks all digests and sizes."""
    where, version, digest = image
    run("skopeo", "--insecure-policy", "copy", "-q", f"oci:{where}:{version}", f"dir:{tmp_path}/copy")
    seen = json.loads(run("skopeo", "inspect", f"oci:{where}:{version}"))
    assert seen["Digest"] == digest and seen["Os"] == "linux" and len(seen["Layers"]) == 1
    labels = {k.removeprefix("org.opencontainers.image."): v for k, v in seen["Labels"].items()}
    assert labels["version"] == version and labels["licenses"] == "Apache-2.0" and labels["title"] == "davit"
    assert labels["created"] == seen["Created"]


def test_it_is_run_as_the_dockerfile_says(image):
    where, version, _ = image
    config = json.loads(run("skopeo", "inspect", "--config", f"oci:{where}:{version}"))["config"]
    assert config["User"] == "65532:65532" and config["Entrypoint"] == ["/usr/bin/davit"] and config["WorkingDir"] == "/tmp"
    assert config["Cmd"] == ["run", "--config", "/etc/davit/davit.yaml"]
    assert set(config["Env"]) == {"PATH=/usr/bin", "HOME=/tmp", "NVIDIA_VISIBLE_DEVICES=void"}
    assert set(config["ExposedPorts"]) == {"44217/tcp", "9790/tcp"}


@pytest.fixture(scope="module")
def unpacked(image, tmp_path_factory):
    where, version, _ = image
    out = tmp_path_factory.mktemp("unpacked") / "bundle"
    run("umoci", "unpack", *([] if os.getuid() == 0 else ["--rootless"]), "--image", f"{where}:{version}", out)
    return out


def test_it_runs(image, unpacked):
    spec = json.loads((unpacked / "config.json").read_text())
    assert spec["process"]["args"][0] == "/usr/bin/davit"
    root = unpacked / "rootfs"
    program = ["unshare", "-fp", f"--mount-proc={root}/proc", "/usr/sbin/chroot", "--userspec=65532:65532", root, "/usr/bin/davit"]
    assert run(*program, "version", env={"PATH": "/usr/bin"}).split()[1] == image[1]
    assert "/usr/lib/davit/davit-gke.so" in run(*program, "providers", env={"PATH": "/usr/bin"}), "plug-ins are found beside the program"


def test_the_same_content_is_the_same_image(image, unpacked, tmp_path):
    """Packed again from what was unpacked."""
    where, version, digest = image
    seen = json.loads(run("skopeo", "inspect", f"oci:{where}:{version}"))
    epoch = run("date", "-u", "-d", seen["Created"], "+%s").strip()
    told = run(CONFIGS / "packaging/image.py", unpacked / "rootfs", CONFIGS / "kubernetes/Dockerfile", version,
               seen["Labels"].get("org.opencontainers.image.revision", ""), tmp_path / "again", env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
    assert digest in told
