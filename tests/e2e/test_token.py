"""A head with token authentication."""
import pytest

from lib import raycluster, raydaemon
import test_scale

TOKEN = "6f1ed002ab5595859014ebf0951522d9"


@pytest.fixture(scope="module")
def ray():
    with raycluster.RayCluster(cpus=1, port=6391, token=TOKEN) as ray:
        yield ray


def test_7_works_with_the_token(ray):
    with raydaemon.RayDaemon(ray) as d:
        out = ray.run(test_scale.ACTORS.format(n=1, more="", stay=0))
        assert "[0]" in out
        assert d.started() == {"k80": 1}
        d.until_nodes({})  # drained with the token, too
        assert TOKEN not in d.text()


@pytest.mark.parametrize("token, says", [(None, "token"), ("wrong" * 6, "token")])
def test_7_says_what_is_wrong_without(ray, token, says):
    environment = {"RAY_AUTH_TOKEN": token, "RAY_AUTH_MODE": None}
    d = raydaemon.RayDaemon(ray, environment=environment)
    try:
        d.start(wait="/healthz")
        problem = d.until(lambda: d.get("/v1/status")[1].get("head", {}).get("problem"), why="the head's problem")
        assert says in problem.lower() and ray.address in problem, problem
        assert "RAY_AUTH_TOKEN" in problem, problem  # what to do about it
        assert d.get("/readyz")[0] == 503
        assert problem in d.text() or "token" in d.text().lower()
        assert "token" in d.cli("status").lower()
        assert TOKEN not in d.text() and (token or TOKEN) not in d.text()
        print(problem)
    finally:
        d.close()
