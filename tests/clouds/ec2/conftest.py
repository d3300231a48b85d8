import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "eks"))

import pytest  # noqa: E402

import eks_operations  # noqa: E402
import eks_rig  # noqa: E402
from lib import drive  # noqa: E402


@pytest.fixture(scope="session")
def process():
    c = eks_rig.Cloud()
    yield c
    c.stop()


@pytest.fixture
def cloud(process):
    """EC2 with a subnet in each zone; every request is signed well."""
    process.clear()
    process.zones = process.subnets()
    yield process
    assert eks_operations.unknown(process.log()) == [], "an operation that is not in the table"
    assert process.rejected() == []


TYPES = """
  t4: {provider: ec2, machine: g4dn.xlarge, max: 20, resources: {CPU: 4, GPU: 1}, options: {image: ami-12c6146b}}
"""


@pytest.fixture
def drives(cloud, tmp_path):
    def make(where, types=TYPES, options="", more=""):
        text = f"""
cluster: drive
{more}
providers:
  ec2: {{region: us-east-1, endpoint: "{cloud.url}"{options}}}
node_types:
{types}
"""
        return drive.Drive(where, text, "ec2", eks_rig.environment(where))
    with drive.drives(tmp_path, make) as d:
        yield d
