"""The AKS plug-in against the test cloud, through the daemon's own call layer."""
import pathlib
import shlex
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import aks_operations  # noqa: E402
from aks_cloud import Cloud  # noqa: E402
from aks_rig import BUILD, QUICK, ROOT, VARIANT, Drive, config, environment  # noqa: E402
from aks_server import Server  # noqa: E402


@pytest.fixture(scope="session")
def driver():
    """drive.c, built against the library as the daemon is."""
    subprocess.run(["make", "-s", f"VARIANT={VARIANT}", f"build/{VARIANT}/libdavit.a",
                    f"build/{VARIANT}/plugins/davit-aks.so"], cwd=ROOT, check=True)
    out = BUILD / "tests" / "aks_drive"
    out.parent.mkdir(exist_ok=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libcurl", "jansson", "yaml-0.1", "libmicrohttpd", "openssl",
                            "libuv", "sqlite3", "libprotobuf-c"], capture_output=True, text=True, check=True).stdout
    sanitize = {"debug": ["-fsanitize=address,undefined"], "tsan": ["-fsanitize=thread"], "cov": ["--coverage"]}
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "autoscaler",
                    *sanitize.get(VARIANT, []), "-o", out, HERE / "drive.c", BUILD / "libdavit.a", *shlex.split(flags),
                    "-ldl", "-lpthread", "-lm"], check=True)
    return out


@pytest.fixture
def server():
    cloud = Cloud()
    cloud.pool("gpu", ["1"])
    cloud.pool("gpu2", ["2"])
    cloud.pool("cpu", [], machine="Standard_D8s_v5")
    with Server(cloud) as s:
        yield s
    assert cloud.rejected == [], "Azure's own SDK rejects these"
    assert aks_operations.unknown(cloud.log) == [], "an operation that is not in the table"
    assert cloud.lost_work == [], "somebody let Azure choose which machines end, or overwrote the pool"


@pytest.fixture
def cloud(server):
    return server.cloud


@pytest.fixture
def drive(driver, server, tmp_path):
    """make(options, t4, more, env): drivers that end with the test."""
    made = []

    def make(options=QUICK, t4="pool: gpu", more="", env=None):
        where = tmp_path / f"d{len(made)}"
        where.mkdir()
        made.append(Drive(driver, where, config(server, options, t4, more), environment(**(env or {}))))
        return made[-1]
    yield make
    for d in made:
        d.close()
