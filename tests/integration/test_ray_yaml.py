"""Ray's own cluster YAMLs, as its wheel ships them: each is launched by our
provider, or says with its line what is in the way."""
import pathlib
import re
import subprocess

import pytest
import ray

from lib import BUILD, without

SHIPPED = pathlib.Path(ray.__file__).parent / "autoscaler"
PROVIDERS = {"aws": "ec2", "gcp": "gce", "azure": "azurevm"}
FILES = sorted(p for cloud in PROVIDERS for p in (SHIPPED / cloud).glob("*.yaml"))
# What Ray itself wants filled in first, as users do.
FILLED = {"project_id: null": "project_id: my-proj"}
# Told by line: machines are ended; Ray would have made a group.
TOLD = ["provider.cache_stopped_nodes is not done", "has no SecurityGroupIds, and none is made"]


def validate(tmp_path, text):
    (tmp_path / "cluster.yaml").write_text(text)
    return subprocess.run([BUILD / "davit", "validate", "cluster.yaml"], cwd=tmp_path, capture_output=True, text=True,
                          env={**without("AWS_", "GOOGLE_", "AZURE_"), "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")})


def test_there_are_some():
    assert {p.parent.name for p in FILES} == set(PROVIDERS)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_shipped(tmp_path, path):
    text = path.read_text()
    for k, v in FILLED.items():
        text = text.replace(k, v)
    p = validate(tmp_path, text)
    assert p.returncode == 0, p.stderr
    left = [x for x in p.stderr.splitlines() if not any(t in x for t in TOLD)]
    assert left == [], "nothing else of it is left undone"
    assert all(re.match(r"warning: cluster\.yaml:\d+:\d+: ", x) for x in p.stderr.splitlines())


def test_a_project_is_asked_for_by_line(tmp_path):
    text = (SHIPPED / "gcp/defaults.yaml").read_text()
    p = validate(tmp_path, text)
    line = next(i for i, x in enumerate(text.splitlines(), 1) if x.strip().startswith("type: gcp"))
    assert p.returncode == 3 and p.stderr.startswith(f"cluster.yaml:{line}:") and "project is needed" in p.stderr, p.stderr


def test_unknown_and_undone(tmp_path):
    p = validate(tmp_path, """
cluster_name: c
max_workers: 2
provider: {type: aws, region: us-east-1, availability_zone: us-east-1a, security_group: {GroupName: mine}, cloudwatch: {agent: {}}}
auth: {ssh_user: ubuntu}
available_node_types:
  head: {resources: {}, node_config: {InstanceType: m5.large}}
  w: {resources: {}, node_config: {InstanceType: m5.large}}
head_node_type: head
file_mounts: {/a: cluster.yaml}
cluster_synced_files: [/not-there]
file_mounts_sync_continuously: true
""")
    assert p.returncode == 0
    told = re.findall(r"cluster.yaml:(\d+):\d+: (\S+) is not done: ", p.stderr)
    assert sorted(told) == [("12", "file_mounts_sync_continuously"), ("4", "provider.cloudwatch"),
                            ("4", "provider.security_group")], p.stderr
