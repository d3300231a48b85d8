"""Run through tests/netns.sh: pages start daemons on the default port, and Ray."""
import os
import re
import subprocess
import sys

import pytest

from lib import ROOT
from pages import Run

NOT_RUN = []
ALL_PAGES = sorted(str(p.relative_to(ROOT)) for where in ("*.md", "docs/*.md", "docs/guides/*.md", "providers/*/README.md", "configs/python/README.md")
                   for p in ROOT.glob(where))
# Their servers need the clouds' own Python packages.
CLOUD_PAGES = [p for p in ALL_PAGES if re.search("<!-- docs: with (eks|gke|aks) -->", (ROOT / p).read_text())]


def run_page(page, tree, search, scratch):
    NOT_RUN.extend(Run(ROOT / page, tree, scratch, search).all().not_run)


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """Davit as `make install` puts it, below a root of its own."""
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["make", "-s", "install", f"DESTDIR={root}"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return root


@pytest.fixture(scope="session")
def search():
    """PATH behind it: stand-ins, this Python with Ray, the system's."""
    return os.pathsep.join([str(ROOT / "tests/docs/bin"), os.path.dirname(sys.executable), os.environ["PATH"]])


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"blocks of the documents that were not run: {len(NOT_RUN)}")
    for line in NOT_RUN:
        terminalreporter.write_line("  " + line)
