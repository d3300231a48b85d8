"""The image's root file system, staged as the Dockerfile does it, measured and run in a chroot: no Docker is needed for that."""
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from lib import ROOT

BUILD = ROOT / "build" / "release"
FOLDER = ROOT / "configs" / "kubernetes"
MIB = 1 << 20


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    base = tmp_path_factory.mktemp("image")
    installed, root = base / "installed", base / "root"
    (installed / "usr/bin").mkdir(parents=True)
    (installed / "usr/lib/davit").mkdir(parents=True)
    shutil.copy(BUILD / "davit", installed / "usr/bin")
    for so in (BUILD / "plugins").glob("davit-*.so"):
        shutil.copy(so, installed / "usr/lib/davit")
    subprocess.run([FOLDER / "rootfs.sh", installed, root], check=True)
    return root


def run(image, *argv):
    """As the container would: another root, a user without rights."""
    cage = ["/usr/bin/unshare", *(["-r"] if os.getuid() else []), "-fp", f"--mount-proc={image}/proc"]
    drop = [] if os.getuid() else ["--userspec=65532:65532"]
    return subprocess.run([*cage, shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin"), *drop, image, *argv], capture_output=True, text=True,
                          env={"PATH": "/usr/bin", "DAVIT_PLUGIN_DIR": "/usr/lib/davit"})


def test_size(image):
    with tarfile.open(image.parent / "layer.tar.gz", "w:gz", compresslevel=6) as t:
        t.add(image, ".")
    packed = (image.parent / "layer.tar.gz").stat().st_size
    whole = sum(f.stat().st_size for f in image.rglob("*") if f.is_file() and not f.is_symlink())
    print(f"image: {whole / MIB:.1f} MiB, {packed / MIB:.1f} MiB packed")
    assert whole < 32 * MIB and packed < 14 * MIB


def test_scanners_find_its_packages(image):
    listed = {p.name for p in (image / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6", "libcurl4", "libssl3", "bash", "ca-certificates"} <= listed, listed
    assert all("Version: " in p.read_text() for p in (image / "var/lib/dpkg/status.d").iterdir())


def test_it_runs(image):
    assert "davit" in run(image, "/usr/bin/davit", "--version").stdout
    plugins = run(image, "/usr/bin/davit", "providers").stdout
    for name in ("k8s", "gke", "eks", "aks", "sim"):
        assert re.search(rf"^{name} 1", plugins, re.M), plugins


def test_kuberay_up_to_1_6_starts_it_so(image):
    out = run(image, "/bin/bash", "-c", "--", "ray kuberay-autoscaler --cluster-name= --cluster-namespace=x")
    assert out.returncode == 2 and "--cluster-name is missing" in out.stderr
    out = run(image, "/bin/bash", "-lc", "--", "ray kuberay-autoscaler --help")
    assert "--cluster-namespace" in out.stdout, out


def test_nobody_may_write(image):
    assert run(image, "/bin/bash", "-c", "echo x > /etc/x").returncode != 0
    writable = [p for p in image.rglob("*") if not p.is_symlink() and p.stat().st_mode & 0o002]
    assert writable == [image / "tmp"]
    assert not [p for p in image.rglob("*") if p.is_file() and p.stat().st_mode & 0o6000]


def test_dockerfile_agrees():
    text = (FOLDER / "Dockerfile").read_text()
    assert re.search(r"^USER 65532:65532$", text, re.M) and "FROM scratch" in text and "rootfs.sh" in text
    assert "NVIDIA_VISIBLE_DEVICES=void" in text
