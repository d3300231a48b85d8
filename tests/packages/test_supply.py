"""What goes out: the gate of the image and `make outdated`, with an apt and a network of the test's own."""
import json
import os
import re
import subprocess

import pytest

from lib import ROOT

LIBSSL = "Package: libssl3t64\nStatus: install ok installed\nVersion: 3.5.1-1\n"
BASH = "Package: bash\nVersion: 5.2.37-2\n"


@pytest.fixture
def world(tmp_path):
    """run(script, *words, **environment), with programs of our own before the machine's."""
    (tmp_path / "bin").mkdir()

    def program(name, text):
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    def run(script, *words, **more):
        p = subprocess.run([ROOT / script, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                           env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", **more})
        return p.returncode, p.stdout + p.stderr

    run.program, run.folder = program, tmp_path
    return run


@pytest.fixture
def gate(world):
    """gate(candidates, os-release) of an image with two packages."""
    folder = world.folder
    status = folder / "root/var/lib/dpkg/status.d"
    status.mkdir(parents=True)
    (status / "libssl3t64").write_text(LIBSSL)
    (status / "bash").write_text(BASH)
    (folder / "lists").mkdir()
    (folder / "lists/x_InRelease").write_text("")
    world.program("apt-config", f"echo \"lists='{folder}/lists/'\"")

    def ask(candidates, release="ID=debian\nVERSION_ID=13\n"):
        text = "".join(f"{name}:\n  Installed: 1\n  Candidate: {version}\n  Version table:\n     {version} 500\n" for name, version in candidates.items())
        (folder / "policy").write_text(text)
        world.program("apt-cache", f"[ \"$*\" = 'policy bash libssl3t64' ] && cat {folder}/policy")
        (folder / "os-release").write_text(release)
        return world("configs/packaging/unpatched.sh", folder / "root", OS_RELEASE=str(folder / "os-release"))

    ask.folder = folder
    return ask


def test_an_image_of_today_passes(gate):
    assert gate({"libssl3t64": "3.5.1-1", "bash": "5.2.37-2"}) == (0, "")


def test_what_is_unpatched_is_named(gate):
    code, said = gate({"libssl3t64": "3.5.1-1+deb13u1", "bash": "5.2.37-2"})
    assert code == 1 and "libssl3t64 3.5.1-1: there is 3.5.1-1+deb13u1" in said and "bash" not in said, said
    assert "apt-get upgrade" in said


def test_a_debian_without_security_updates(gate):
    code, said = gate({"libssl3t64": "3.5.1-1", "bash": "5.2.37-2"}, "ID=debian\nVERSION_ID=\"12\"\n")
    assert code == 1 and "this is Debian 12" in said and "Debian 13" in said, said


@pytest.mark.parametrize("what", ["old", "none", "unknown"])
def test_who_cannot_tell_says_so(gate, what):
    if what == "old":
        os.utime(gate.folder / "lists/x_InRelease", (0, 0))
    if what == "none":
        (gate.folder / "lists/x_InRelease").unlink()
    code, said = gate({"bash": "5.2.37-2", **({} if what == "unknown" else {"libssl3t64": "3.5.1-1"})})
    assert code == 2 and ("does not know the package libssl3t64" if what == "unknown" else "apt-get update") in said, said


def test_the_image_goes_through_the_gate(tmp_path):
    """`make image` ends before there is one, and says what to do; who says UNPATCHED=told has been told."""
    said = subprocess.run(["make", "-n", "image"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.index("rootfs.sh") < said.index("unpatched.sh") < said.index("image.py"), said
    docker = (ROOT / "configs/kubernetes/Dockerfile").read_text()
    assert re.search(r"^ARG BASE=debian:13-slim@sha256:[0-9a-f]{64}$", docker, re.M), "the base is not named by its digest"
    assert re.findall(r"^FROM (\S+)", docker, re.M) == ["$BASE", "scratch"] and "apt-get upgrade -y" in docker
    assert docker.index("rootfs.sh") < docker.index("unpatched.sh /rootfs") < docker.index("FROM scratch")


GNU = '<a href="libmicrohttpd-1.0.9.tar.gz">x</a><a href="libmicrohttpd-{0}.tar.gz">x</a><a href="libmicrohttpd-{0}.tar.gz.sig">x</a><a href="libmicrohttpd-latest.tar.gz">'
DEBIAN = json.dumps({"versions": [{"version": "1.0.1-3"}, {"version": "{0}-1"}]})


@pytest.mark.parametrize("who", ["gnu", "debian"])
@pytest.mark.parametrize("there, code", [("1.0.10", 0), ("1.0.11", 1), ("1.1.0", 1), ("1.0.2", 0)])
def test_outdated(world, who, there, code):
    (world.folder / "gnu").write_text(GNU.replace("{0}", there))
    (world.folder / "debian").write_text(DEBIAN.replace("{0}", there))
    world.program("curl", f"for at; do :; done; case $at in *gnu.org*) {'cat ' + str(world.folder / 'gnu') if who == 'gnu' else 'exit 22'};; "
                          f"*debian.org*) cat {world.folder}/debian;; esac")
    got, said = world("configs/outdated.sh", "1.0.10")
    assert got == code, said
    assert code == 0 or (f"there is {there}" in said and "MHD_VERSION" in said and "sha256sum" in said and "hostile" in said), said


def test_outdated_without_an_answer(world):
    world.program("curl", "exit 6")
    code, said = world("configs/outdated.sh", "1.0.10")
    assert code == 2 and "neither ftp.gnu.org nor sources.debian.org answers" in said, said


def test_a_library_that_others_could_write_is_not_linked(tmp_path):
    archive = tmp_path / "mhd/lib/libmicrohttpd.a"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"!<arch>\n")
    ask = lambda: subprocess.run([ROOT / "configs/libmicrohttpd.sh", "1.0.10", tmp_path / "mhd"], capture_output=True, text=True, check=False)  # noqa: E731
    assert ask().returncode == 0
    archive.chmod(0o666)
    p = ask()
    assert p.returncode == 1 and "could be written, by somebody else" in p.stderr, p.stderr
