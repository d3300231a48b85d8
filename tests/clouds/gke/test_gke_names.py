"""The pure parts, called directly: names that carry a request id, and the kit's readers."""
import ctypes
import random
import re
import subprocess

import pytest

from lib import ROOT
from lib.seeds import seed

GCE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    out = tmp_path_factory.mktemp("lib") / "pure.so"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "jansson", "libcrypto"], capture_output=True, text=True, check=True).stdout.split()
    errors = out.with_name("errors.c")  # its functions for us, too
    errors.write_text('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include "kit/gcp/gcp.h"\n#define static\n'
                      f'#include "{ROOT}/autoscaler/kit/gcp/errors.c"\n')
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-I", ROOT / "autoscaler", "-I", ROOT / "autoscaler/kit", "-o", out,
                    ROOT / "providers/gke/names.c", errors, ROOT / "autoscaler/kit/json.c",
                    *(ROOT / f"autoscaler/kit/{f}.c" for f in ("alloc", "keep", "options", "str", "text")), *flags], check=True)
    lib = ctypes.CDLL(out)
    lib.kit_time_ms.restype = ctypes.c_int64
    lib.name_possible.restype = lib.name_tagged.restype = lib.name_likely.restype = lib.kit_url_append.restype = ctypes.c_bool
    return lib


def make(lib, group, request, i, tag="ab2c"):
    out = ctypes.create_string_buffer(64)
    lib.name_make(out, group.encode(), tag.encode(), request.encode(), i)
    return out.value.decode()


def request_of(lib, name):
    out = ctypes.create_string_buffer(64)
    lib.name_request(name.encode(), out)
    return out.value.decode()


def test_names_go_and_come_back(lib):
    rnd = random.Random(seed())

    def word(n):
        return "".join(rnd.choice("abcdefghijklmnopqrstuvwxyz0123456789-") for _ in range(n))
    for _ in range(20000):
        group = "gke-" + (word(rnd.randrange(1, 55)) + "a").replace("--", "-0") + rnd.choice(["-grp", "-grp", ""])
        hexes = rnd.random() < 0.5
        request = f"davit-{rnd.getrandbits(80):020x}" if hexes else (rnd.choice("abc") + word(rnd.randrange(0, 38)) + "z").replace("--", "-1")
        if not lib.name_possible(request.encode()):
            assert "--" in request
            continue
        i, k = rnd.sample(range(10000), 2)
        name = make(lib, group, request, i)
        assert GCE.fullmatch(name), name
        assert request_of(lib, name) == request, (group, request, name)
        assert lib.name_likely(name.encode(), group.encode())
        assert lib.name_tagged(name.encode(), b"ab2c") and not lib.name_tagged(name.encode(), b"ab2d")
        assert make(lib, group, request, k) != name
        other = f"davit-{rnd.getrandbits(80):020x}"
        assert make(lib, group, other, i) != name


def test_googles_own_names_have_no_request(lib):
    for name in ("gke-c1-gpu-0a1b2c3d-x1y2", "gke-c1-default-pool-ffffeeee-0000", "a", "k", "gke-c1-gpu-0a1b2c3d-kabc", "--", "a--", "a--b", "a--b-",
                 "-k", "x--r-00", "x--r-00A"):
        assert request_of(lib, name) == ""
    assert lib.name_likely(b"gke-c1-gpu-0a1b2c3d-x1y2", b"gke-c1-gpu-0a1b2c3d-grp")
    assert not lib.name_likely(b"gke-c1-cpu-0a1b2c3d-x1y2", b"gke-c1-gpu-0a1b2c3d-grp")


def test_ids_that_fit_no_name(lib):
    for bad in ("", "-a", "a-", "A", "a_b", "a--b", "a" * 41, "davit-é"):
        assert not lib.name_possible(bad.encode()), bad
    for good in ("davit-00112233445566778899", "check-1a2b-7", "a" * 40):
        assert lib.name_possible(good.encode()), good


def test_times(lib):
    for text, ms in (("1970-01-01T00:00:00Z", 0), ("2030-01-01T00:00:00Z", 1893456000000), ("2030-01-01T00:00:00.999Z", 1893456000999),
                     ("2030-01-01T02:30:00+02:30", 1893456000000), ("2029-12-31T16:00:00-08:00", 1893456000000),
                     ("2030-01-01", -1), ("", -1), ("2030-01-01T00:00:00", -1), ("2030-01-01T00:00:00Zx", -1)):
        assert lib.kit_time_ms(text.encode()) == ms, text


def test_url_encoding(lib):
    for text, want in (('labels.x="gpu"', b"labels.x%3D%22gpu%22"), ("a b/é", b"a%20b%2F%C3%A9"), ("A-z_0.~", b"A-z_0.~")):
        out = ctypes.create_string_buffer(100)
        assert lib.kit_url_append(out, 100, text.encode()) and out.value == want
    small = ctypes.create_string_buffer(4)
    assert not lib.kit_url_append(small, 4, b"abcd") and len(small.value) < 4


def test_every_code_we_know_has_one_reaction(lib):
    """One table, and no code in it twice."""
    text = (ROOT / "autoscaler/kit/gcp/errors.c").read_text()
    codes = re.findall(r'\{"(\w+)", DAVIT_(\w+)\}', text)
    assert len(codes) > 50 and len({c for c, _ in codes}) == len(codes)
    names = ["OK", "RETRY", "THROTTLED", "STOCKOUT", "QUOTA", "AUTH", "INVALID", "NOT_FOUND"]
    for code, status in codes:
        assert names[lib.gcp_status(code.encode(), b"")] == status
    assert names[lib.gcp_status(b"NO_SUCH_CODE", b"no such text")] == "RETRY"
