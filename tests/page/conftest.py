"""The page in a real Chromium, before a real daemon on the sim cloud."""
import importlib.util
import os
import pathlib
import subprocess

import pytest

from lib import ROOT, TESTS
from lib.browser import Browser

spec = importlib.util.spec_from_file_location("integration_conftest", TESTS / "integration/conftest.py")
its = importlib.util.module_from_spec(spec)
spec.loader.exec_module(its)
daemon_of = its.daemon_of

# Two machines of each kind wait for nothing; a third GPU does.
CONFIG = """
cluster: page
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
limits: {max_nodes: 20, idle_timeout: 10m, max_cost_per_hour: 12}
providers:
  sim: {}
node_types:
  cpu: {provider: sim, resources: {CPU: 8, memory: 32Gi}, price: 0.4, max: 4, boot: 1s, options: {boot: 300ms}}
  t4: {provider: sim, resources: {CPU: 4, GPU: 1}, zones: [a-1, a-2], price: 0.5, max: 2, boot: 1s, options: {boot: 300ms}}
  v100: {provider: sim, resources: {CPU: 4, GPU: 1}, labels: {tier: high}, price: 2.5, max: 2, boot: 1s, options: {boot: 300ms, stockout: always}}
"""


@pytest.fixture(scope="session")
def axe():
    """axe-core's text; tests/setup.sh page fetches it, once, before this suite."""
    there = os.environ.get("DAVIT_AXE") or subprocess.run([ROOT / "tests/setup.sh", "page"], check=True, capture_output=True,
                                                          text=True).stdout.split()[-1]
    return pathlib.Path(there).read_text()


@pytest.fixture(scope="module")
def browser():
    with Browser() as b:
        yield b


@pytest.fixture
def config():
    return CONFIG


@pytest.fixture
def daemon(daemon_of):
    return daemon_of(config=CONFIG).start(wait="/readyz")


@pytest.fixture
def settled(daemon):
    """Requests that have all they can get: `alice` both T4s, `bob` a CPU, `carol` waits, `dave` can never have it."""
    for owner, bundles in (("alice", [{"resources": {"GPU": 1}, "count": 2}]), ("bob", [{"CPU": 6}]),
                           ("carol", [{"resources": {"GPU": 1}, "count": 3}]), ("dave", [{"GPU": 16}])):
        daemon.post({"owner": owner, "bundles": bundles, "ttl": "2h"})
    daemon.until(lambda: daemon.ready() == 3)
    return daemon


class View:
    """A page of the daemon that has shown its first figures."""

    def __init__(self, browser, daemon, path="/", **kw):
        self.page, self.daemon = browser.page(**kw), daemon
        self.page.go(daemon.url + path)

    def shown(self):
        self.page.until("document.documentElement.dataset.tick", why="no figures are shown")
        return self.page

    def current(self):
        """What is shown is of the newest tick, and stays so for the moment."""
        self.daemon.until(lambda: str(self.daemon.get("/v1/overview")[1]["tick"]) == self.page.eval("document.documentElement.dataset.tick"),
                          why="the page does not follow")
        return self.page


@pytest.fixture
def look(browser):
    made = []

    def open_(daemon, **kw):
        made.append(View(browser, daemon, **kw))
        return made[-1]

    yield open_
    for v in made:
        v.page.close()
        assert v.page.console == [], v.page.console
        assert all(u.startswith((v.daemon.url + "/", "data:", "about:")) for u in v.page.asked), v.page.asked
