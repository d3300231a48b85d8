import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gke"))

import pytest  # noqa: E402

from gke_rig import environment  # noqa: E402
from gke_server import Cloud, Server  # noqa: E402
from lib import BUILD, drive  # noqa: E402

TYPES = """
  t4:
    provider: gce
    machine: n1-standard-8+t4
    zones: [us-central1-a, us-central1-b]
    resources: {CPU: 8, GPU: 1}
    max: 40
"""


@pytest.fixture
def server():
    with Server(Cloud()) as s:
        yield s
    assert s.cloud.rejected == [], "Google's own schema rejects these"
    assert s.cloud.bad_replies == [], "our own test cloud answers what Google would not"


@pytest.fixture
def cloud(server):
    return server.cloud


@pytest.fixture
def drives(server, tmp_path):
    def make(where, types=TYPES, options="", more="", image="image: projects/p/global/images/family/ray"):
        text = f"""
cluster: Drive.1
{more}
providers:
  gce: {{project: my-proj, endpoint: "{server.url}"{image and ", " + image}{options}}}
node_types:
{types}
"""
        return drive.Drive(where, text, "gce", environment(server, DAVIT_PLUGIN_DIR=str(BUILD / "plugins")))
    with drive.drives(tmp_path, make) as d:
        yield d
