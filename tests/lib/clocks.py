"""A daemon whose clocks the test sets (integration/aids/clocks.c, preloaded into every Daemon), and
a plug-in whose operations hang as long as the test likes (aids/stuck.c)."""
import functools
import mmap
import os
import pathlib
import struct
import subprocess
import tempfile

import pytest

from lib import BUILD, ROOT, TESTS

HOUR = 3600 * 1000


def compiled(directory, name, out, *flags):
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-Wall", "-Werror",
                    f"-I{ROOT}/autoscaler", "-o", str(directory / out), str(TESTS / "integration/aids" / name), "-lpthread", "-ldl", *flags],
                   check=True)
    return directory / out


@pytest.fixture(scope="module")
def aids(tmp_path_factory):
    d = tmp_path_factory.mktemp("aids")
    compiled(d, "stuck.c", "davit-stuck.so")
    return d


@functools.cache
def preload():
    """clocks.c, built beside the daemon that it is for."""
    source, out = TESTS / "integration/aids/clocks.c", BUILD / "tests/aids/clocks.so"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent) as d:
            os.replace(compiled(pathlib.Path(d), "clocks.c", "clocks.so"), out)  # others may build it at this moment
    return out


class Clocks:
    """A daemon's clocks, milliseconds ahead of ours: wall, mono, and boot, which goes on in sleep (as mono, unless given).
    A daemon that is started again in the same directory goes on with them."""

    def __init__(self, directory):
        self.path = directory / ".clocks"
        if not self.path.exists():
            self.path.write_bytes(bytes(24))
        self.env = {"LD_PRELOAD": str(preload()), "CLOCKS": str(self.path),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def set(self, wall=0, mono=0, boot=None):
        self._write(wall, mono, mono if boot is None else boot)

    def get(self):
        return struct.unpack("=qqq", self.path.read_bytes())

    def ahead(self, ms):
        """So much time goes by, on all of them."""
        self._write(*(t + ms for t in self.get()))

    def _write(self, *times):
        with open(self.path, "r+b") as f, mmap.mmap(f.fileno(), 24) as m:
            m[:] = struct.pack("=qqq", *times)
