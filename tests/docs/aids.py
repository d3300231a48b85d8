"""What a page may have beside it (`<!-- docs: with NAME -->`): a cloud's test
server, a real control plane.  Each is a context manager; `env` goes to the
page's commands, `rewrite` says where that cloud is in a page's files, the one
thing in which they differ from what a reader writes.
"""
import contextlib
import os
import re
import shutil
import sys
import tempfile

from lib import ROOT

sys.path += [str(ROOT / "tests/e2e/clouds"), str(ROOT / "tests/k8s")]


class Aid:
    env = {}
    folders = ()  # of the project, copied into the page's own

    def rewrite(self, text):
        return text


class Cloud(Aid):
    """`pools`: the page's name of each pool, and the test server's."""

    def __init__(self, side, folder, pools):
        self.line = side.words()[0]  # "gke: {project: my-proj, ..., endpoint: ...}"
        self.name, self.pools = self.line.split(":")[0], pools
        self.env = {k: v for k, v in side.environment(folder).items() if os.environ.get(k) != v}

    def rewrite(self, text):
        """The provider's own line and the pools, as the test server has them."""
        lines = [f"  {self.line}" if line.startswith(f"  {self.name}: {{") else line for line in text.split("\n")]
        for theirs, ours in self.pools.items():
            lines = [re.sub(rf"(pools?: .*?)\b{theirs}(?=[,}}])", rf"\g<1>{ours}", line) for line in lines]
        return "\n".join(lines)


@contextlib.contextmanager
def gke(folder):
    from gke_side import Gke
    with Gke() as side:
        side.takes(1)
        yield Cloud(side, folder, {})
        assert side.rejected() == []


@contextlib.contextmanager
def aks(folder):
    from aks_side import Aks
    with Aks() as side:
        yield Cloud(side, folder, {"t4z1": "gpu", "t4z2": "gpu2"})
        assert side.rejected() == []


@contextlib.contextmanager
def eks(folder):
    from eks_side import Eks
    with Eks() as side:
        try:
            yield Cloud(side, folder, {"cpu": side.cloud.names["cpu"], "gpu-a": side.cloud.names["t4_a"], "gpu-b": side.cloud.names["t4_b"]})
            assert side.rejected() == []
        finally:
            Eks.close()
            Eks.cloud = None  # the next test starts its own


@contextlib.contextmanager
def kubernetes(folder):
    from lib.plane import Plane
    with Plane() as plane:
        aid = Aid()
        aid.env = {"KUBECONFIG": str(plane.kubeconfig)}
        yield aid


@contextlib.contextmanager
def ray(folder):
    """Nothing runs yet: the page starts its head itself.  Without usage statistics, and small."""
    aid, short = Aid(), tempfile.mkdtemp(prefix="dr")  # Ray's sockets bear no long path
    aid.env = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_TMPDIR": short,
               "RAY_object_store_memory": "80000000", "PYTHONUNBUFFERED": "1"}
    try:
        yield aid
    finally:
        shutil.rmtree(short)


@contextlib.contextmanager
def checkout(folder):
    """The project's folders that pages speak of: copies, for a daemon writes its journal beside its configuration."""
    aid = Aid()
    aid.folders = ["configs", "docs", "providers", "tests"]
    yield aid


AIDS = {f.__name__: f for f in (gke, aks, eks, kubernetes, ray, checkout)}
