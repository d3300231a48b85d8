"""The Debian package: what lintian says of it, that it can be built twice, and its life on a copy of this machine.

The copy is an overlay in memory: dpkg, the package's scripts and the daemon are real. In cage.sh systemd does not run, in boot.sh
it is process 1.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from lib import ROOT
from packages.test_install import digest, make

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def deb(tmp_path_factory):
    """Under its own name, in a folder that others do not write to."""
    made = ROOT / make("deb").strip()
    return pathlib.Path(shutil.copy(made, tmp_path_factory.mktemp("deb")))


def test_lintian_is_content(deb, tmp_path):
    out = subprocess.run(["lintian", "--fail-on", "warning,error", "--allow-root", deb], capture_output=True, text=True, check=False,
                         env={**os.environ, "TMPDIR": str(tmp_path)})  # it leaves a file there
    assert out.returncode == 0, out.stdout + out.stderr


def test_packed_twice_it_is_the_same(deb):
    assert digest(ROOT / make("deb").strip()) == digest(deb)


def repacked(deb, folder, version):
    """The same package under another version."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.M))
    out = folder / f"davit_{version}_any.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, out], check=True, capture_output=True)
    return out


def test_its_life(deb, tmp_path):
    old = repacked(deb, tmp_path, "0.0.9-1")
    out = subprocess.run([HERE / "cage.sh", "/usr/bin/python3", HERE / "life.py", old, deb, ROOT / "tests/golden/journal/v0.1.sql"],
                         capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert out.returncode == 0 and out.stdout.endswith("the end\n"), out.stdout + out.stderr


def test_its_life_under_systemd(deb, tmp_path):
    old = repacked(deb, tmp_path, "0.0.9-1")
    out = subprocess.run([HERE / "boot.sh", "/usr/bin/python3", HERE / "booted.py", old, deb], capture_output=True, text=True, check=False,
                         stdin=subprocess.DEVNULL)
    assert out.returncode == 0 and "\nthe end\n" in out.stdout, out.stdout + out.stderr
