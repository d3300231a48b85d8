import pytest

from boot import Boot
from side import Side
from aks_side import Aks
from eks_side import Eks
from gke_side import Gke
from lib import daemon

SIDES = {s.name: s for s in (Eks, Gke, Aks)}


@pytest.fixture(scope="session", autouse=True)
def processes():
    yield
    Eks.close()


@pytest.fixture(params=SIDES)
def side(request, tmp_path) -> Side:
    with SIDES[request.param]() as s:
        yield s
        assert s.rejected() == [], "the vendor's own code refuses these"
        assert s.chosen_by_cloud() == [], "the cloud was left to choose which machines end"


@pytest.fixture
def davit(side, tmp_path):
    """davit(...): a daemon on the side's cloud; words are those of Side.config()."""
    made, boots = [], []

    def make(**words):
        """head: a RayCluster, and machines join it."""
        if words.get("head"):
            boots.append(Boot(side, words["head"]).__enter__())
            words["head"] = words["head"].address
        made.append(daemon.Daemon(tmp_path, side.config(**words), start=False))
        made[-1].env = side.environment(tmp_path)
        return made[-1].start()
    yield make
    for b in boots:
        b.__exit__(None)
    for d in made:
        assert d.stop() == 0
        text = d.text()
        assert "Sanitizer" not in text, text[-3000:]
        assert not [s for s in side.secrets if s in text], "a token or a secret is in the log"
