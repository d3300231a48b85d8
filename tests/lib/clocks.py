"""A daemon whose clocks the test sets (integration/aids/clocks.c, preloaded), and
a plug-in whose operations hang as long as the test likes (aids/stuck.c)."""
import mmap
import os
import struct
import subprocess

import pytest

from lib import ROOT, TESTS

HOUR = 3600 * 1000


def compiled(directory, name, out, *flags):
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-Wall", "-Werror",
                    f"-I{ROOT}/autoscaler", "-o", str(directory / out), str(TESTS / "integration/aids" / name), "-lpthread", "-ldl", *flags],
                   check=True)
    return directory / out


@pytest.fixture(scope="module")
def aids(tmp_path_factory):
    d = tmp_path_factory.mktemp("aids")
    compiled(d, "clocks.c", "clocks.so")
    compiled(d, "stuck.c", "davit-stuck.so")
    return d


class Clocks:
    """The daemon's clocks, milliseconds ahead of ours: wall, mono, and boot, which goes on in sleep (as mono, unless given)."""

    def __init__(self, aids, directory):
        self.path = directory / "clocks"
        self.path.write_bytes(bytes(24))
        self.env = {"LD_PRELOAD": str(aids / "clocks.so"), "CLOCKS": str(self.path),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def set(self, wall=0, mono=0, boot=None):
        with open(self.path, "r+b") as f, mmap.mmap(f.fileno(), 24) as m:
            m[:] = struct.pack("=qqq", wall, mono, mono if boot is None else boot)
