"""A Ray cluster YAML as `ray up` takes it, beside a real head started with
--no-monitor: two T4 actors, 0 to 2 machines to 0.  Each machine is a host of its
own that runs the very user data that was sent, and joins as a real raylet.
"""
import os
import pathlib
import select
import signal
import subprocess
import sys

import pytest

import hosts
from lib import BUILD, daemon, raycluster, until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clouds" / "eks"))
import eks_rig  # noqa: E402

AWS = """
cluster_name: two-t4
max_workers: 4
idle_timeout_minutes: 0.05
provider:
  type: aws
  region: us-east-1
  availability_zone: us-east-1a,us-east-1b
auth:
  ssh_user: root
available_node_types:
  ray.head.default:
    resources: {CPU: 0}
    node_config: {InstanceType: m5.large, ImageId: ami-12c6146b}
  ray.worker.t4:
    min_workers: 0
    max_workers: 4
    resources: {}
    node_config:
      InstanceType: g4dn.xlarge
      ImageId: ami-12c6146b
      BlockDeviceMappings: [{DeviceName: /dev/sda1, Ebs: {VolumeSize: 140, VolumeType: gp3}}]
head_node_type: ray.head.default
setup_commands: ["touch /tmp/was-set-up"]
worker_start_ray_commands:
  - ray stop
  - test -e /tmp/was-set-up && ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076 --object-store-memory=80000000
"""

ACTORS = """
import ray, sys
ray.init(address="auto", log_to_driver=False)
@ray.remote(num_gpus=1, accelerator_type="T4")
class A:
    def where(self):
        import os
        return os.environ["RAY_CLOUD_INSTANCE_ID"]
a = [A.remote() for _ in range(2)]
print("AT", *ray.get([x.where.remote() for x in a]), flush=True)
sys.stdin.readline()
"""


class Head(raycluster.RayCluster):
    """At the bridge's address, where machines can reach it."""

    def start_head(self):
        hosts.bridge()
        argv = ["ray", "start", "--head", "--block", "--no-monitor", "--port=6379", f"--node-ip-address={hosts.HEAD}",
                "--num-cpus=0", "--num-gpus=0", "--object-store-memory=80000000", f"--temp-dir={self.dir / 'h0'}",
                "--disable-usage-stats", "--include-log-monitor=false", "--include-dashboard=false"]
        self.head = self._launch(argv, self.environment(RAY_NODE_TYPE_NAME="ray.head.default", RAY_ADDRESS=None), "head")
        self.wait(lambda: any(n.head and n.status != "DEAD" for n in self.nodes()), 60, "the head's own node", self.head, "head")

    @property
    def address(self):
        return f"{hosts.HEAD}:6379"


def test_aws(tmp_path):
    cloud = eks_rig.Cloud()
    (tmp_path / "cluster.yaml").write_text(AWS)
    cloud.clear()
    cloud.subnets()
    ray_path = str(raycluster.ray_bin())
    env = eks_rig.environment(tmp_path, AWS_ENDPOINT_URL=cloud.url)
    try:
        with Head(port=6379) as ray, hosts.Hosts(cloud.instances, ray_path, tmp_path / "hosts.log"):
            log = open(tmp_path / "davit.log", "w")
            d = subprocess.Popen([BUILD / "davit", "run", "--config", "cluster.yaml"],
                                 cwd=tmp_path, env=env, stdout=log, stderr=log)
            try:
                actors = subprocess.Popen([f"{ray_path}/python", "-c", ACTORS], env=ray.environment(), stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True)
                line = actors.stdout.readline() if select.select([actors.stdout], [], [], 120)[0] else "nothing"
                assert line.startswith("AT "), (line, (tmp_path / "hosts.log").read_text()[-4000:], (tmp_path / "davit.log").read_text()[-3000:])
                bill = cloud.instances()
                assert set(line.split()[1:]) == set(bill) and len(bill) == 2, "each actor is on a machine of its own, by its cloud's id"
                assert {b["tags"]["davit-type"] for b in bill.values()} == {"ray.worker.t4"}
                actors.communicate("\n", timeout=60)
                until(lambda: not cloud.instances(), seconds=90, why="the machines are still billed")
                ends = [x for x in cloud.log(since=0) if x["action"] == "TerminateInstances"]
                assert {v for x in ends for k, v in x["form"] if k.startswith("InstanceId")} == set(bill)
                assert len(cloud.bought()) == 2
            finally:
                actors.kill()
                d.send_signal(signal.SIGTERM)
                d.wait(30)
                log.close()
        assert cloud.rejected() == []
    finally:
        cloud.stop()
