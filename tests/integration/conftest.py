"""A daemon on the sim cloud for tests that need no other configuration."""
import pytest

from lib.daemon import Daemon

CONFIG = """
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
limits: {max_nodes: 20, idle_timeout: 60s}
providers:
  sim: {}
node_types:
  cpu:
    {provider: sim, machine: e2-standard-8, max: 4, boot: 1s, options: {boot: 300ms}}
  t4:
    {provider: sim, machine: n1-standard-8+t4, max: 2, boot: 1s, options: {boot: 300ms}}
  k80:
    {provider: sim, machine: p2.xlarge, max: 8, options: {boot: 300ms}}
"""


@pytest.fixture
def daemon_of(tmp_path):
    """daemon_of(config=..., api=...): a daemon, not started yet, that ends with the test."""
    made = []

    def make(config=CONFIG, api=""):
        where = tmp_path / f"d{len(made)}"
        where.mkdir()
        made.append(Daemon(where, config.replace("API", api), start=False))
        return made[-1]

    yield make
    for d in made:
        d.stop()
        assert "Sanitizer" not in d.text()


@pytest.fixture
def daemon(daemon_of):
    d = daemon_of().start(wait="/readyz")  # the cloud was listed: it may buy
    yield d
    assert d.stop() == 0, d.text()
