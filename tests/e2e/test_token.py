"""A head with token authentication."""
import pytest

import davit
import raycluster
import test_scale

TOKEN = "6f1ed002ab5595859014ebf0951522d9"


@pytest.fixture(scope="module")
def ray():
    with raycluster.RayCluster(cpus=1, port=6391, token=TOKEN) as ray:
        yield ray


def test_7_works_with_the_token(ray):
    with davit.Daemon(ray) as d:
        out = ray.run(test_scale.ACTORS.format(n=1, more="", stay=0))
        assert "[0]" in out
        assert d.nodes("ready") == {"k80": 1}
        d.wait_nodes({}, 20)  # drained with the token, too
        assert TOKEN not in d.log()


@pytest.mark.parametrize("token, says", [(None, "token"), ("wrong" * 6, "token")])
def test_7_says_what_is_wrong_without(ray, token, says):
    environment = {"RAY_AUTH_TOKEN": token, "RAY_AUTH_MODE": None}
    d = davit.Daemon(ray, environment=environment)
    d.write_config()
    try:
        d.start(ready=False)
        problem = d.wait(lambda: d.api("GET", "/v1/status")[1].get("head", {}).get("problem"), 10, "the head's problem")
        assert says in problem.lower() and ray.address in problem, problem
        assert "RAY_AUTH_TOKEN" in problem, problem  # what to do about it
        assert d.api("GET", "/readyz")[0] == 503
        assert problem in d.log() or "token" in d.log().lower()
        assert "token" in d.cli("status").lower()
        assert TOKEN not in d.log() and (token or TOKEN) not in d.log()
        print(problem)
    finally:
        d.close()
