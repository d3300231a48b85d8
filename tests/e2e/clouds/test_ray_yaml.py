"""A Ray cluster YAML as `ray up` takes it, beside a real head started with
--no-monitor: two T4 actors, 0 to 2 machines to 0.  Each machine is a host of its
own that runs the very user data that was sent, and joins as a real raylet.
"""
import base64
import contextlib
import pathlib
import select
import signal
import subprocess
import sys
import time
import urllib.parse

import pytest

import hosts
from lib import BUILD, raycluster, until, without

for cloud in ("eks", "gke", "aks", "azurevm"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clouds" / cloud))
import aks_rig  # noqa: E402
import aks_server  # noqa: E402
import azurevm_cloud  # noqa: E402
import eks_rig  # noqa: E402
import gke_server  # noqa: E402

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
file_mounts: {~/mounted: mounted}
rsync_exclude: ["**/.git"]
setup_commands: ["test ! -e ~/mounted/.git && cp ~/mounted/deep/file /tmp/was-set-up"]
worker_start_ray_commands:
  - ray stop
  - ulimit -n 65536; grep -q brought /tmp/was-set-up && ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076 --object-store-memory=80000000
"""

GCP = """
cluster_name: two-t4
max_workers: 4
idle_timeout_minutes: 0.05
provider:
  type: gcp
  region: us-central1
  availability_zone: us-central1-a
  project_id: my-proj
auth:
  ssh_user: root
available_node_types:
  ray_head_default:
    resources: {CPU: 0}
    node_config: {machineType: n1-standard-8}
  ray_worker_t4:
    min_workers: 0
    max_workers: 4
    resources: {CPU: 8, GPU: 1}
    node_config:
      machineType: n1-standard-8
      disks:
        - boot: true
          autoDelete: true
          type: PERSISTENT
          initializeParams:
            diskSizeGb: 50
            sourceImage: projects/deeplearning-platform-release/global/images/family/common-cu121
      guestAccelerators:
        - acceleratorType: nvidia-tesla-t4
          acceleratorCount: 1
      metadata:
        items:
          - key: install-nvidia-driver
            value: "True"
      scheduling:
        - preemptible: true
        - onHostMaintenance: TERMINATE
head_node_type: ray_head_default
setup_commands:
  - echo 'export WAS_SET_UP=yes' >> ~/.bashrc
worker_start_ray_commands:
  - ray stop
  - ulimit -n 65536; test -n "$WAS_SET_UP" && ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076 --object-store-memory=80000000
"""

# What is sold in 2026.  A G2 brings its GPU: no guestAccelerators, and on demand it must be terminated at maintenance.
G2 = GCP[:GCP.index("      guestAccelerators")].replace("machineType: n1-standard-8\n      disks", "machineType: g2-standard-8\n      disks") \
    + GCP[GCP.index("head_node_type"):]
# An A3 of a dense reservation.
A3 = G2.replace("g2-standard-8", "a3-highgpu-8g").replace("resources: {CPU: 8, GPU: 1}", "resources: {CPU: 2, GPU: 8}").replace("head_node_type", """\
      scheduling: {provisioningModel: RESERVATION_BOUND}
      reservationAffinity: {consumeReservationType: SPECIFIC_RESERVATION, key: compute.googleapis.com/reservation-name, values: [block-1]}
head_node_type""")
# A Capacity Block, and an on-demand reservation (ODCR).
BLOCK = AWS.replace("InstanceType: g4dn.xlarge", """InstanceType: p5.48xlarge
      InstanceMarketOptions: {MarketType: capacity-block}
      CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: cr-0123}}""").replace(
    "resources: {}", "resources: {CPU: 2, GPU: 8}")
ODCR = AWS.replace("InstanceType: g4dn.xlarge", """InstanceType: g4dn.xlarge
      CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: cr-0456}}""")

# But for the last line, which names the test's own server, as `ray up` takes it.
AZURE = """
cluster_name: two-t4
max_workers: 4
idle_timeout_minutes: 0.05
provider:
  type: azure
  location: westeurope
  resource_group: Rg1
  subscription_id: 00000000-0000-0000-0000-000000000001
  availability_zone: auto
auth:
  ssh_user: root
available_node_types:
  ray.head.default:
    resources: {CPU: 0}
    node_config: {azure_arm_parameters: {vmSize: Standard_D2s_v3}}
  ray.worker.t4:
    min_workers: 0
    max_workers: 4
    node_config:
      azure_arm_parameters:
        vmSize: Standard_NC4as_T4_v3
        imagePublisher: microsoft-dsvm
        imageOffer: ubuntu-2204
        imageSku: 2204-gen2
        imageVersion: latest
        adminUsername: ubuntu
        priority: Spot
head_node_type: ray.head.default
setup_commands: ["touch /tmp/was-set-up"]
worker_start_ray_commands:
  - ray stop
  - ulimit -n 65536; test -e /tmp/was-set-up && ray start --address=$RAY_HEAD_IP:6379 --object-manager-port=8076 --object-store-memory=80000000
davit: {providers: {azurevm: {endpoint: "%s"}}}
"""

ACTORS = """
import ray, ray.autoscaler.sdk, sys
ray.init(address="auto", log_to_driver=False)
@ray.remote(num_gpus=int(sys.argv[1]), accelerator_type=sys.argv[2])
class A:
    def where(self):
        import os
        return os.environ["RAY_CLOUD_INSTANCE_ID"]
a = [A.remote() for _ in range(2)]
print("AT", *ray.get([x.where.remote() for x in a]), flush=True)
if kept := int(sys.argv[3]):
    ray.autoscaler.sdk.request_resources(bundles=[{"GPU": 1}] * kept)
    print("KEPT", flush=True)
sys.stdin.readline()
if kept:
    ray.autoscaler.sdk.request_resources(bundles=[])
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

    def __exit__(self, *exc):
        super().__exit__(*exc)
        hosts.unbridge()

    @property
    def address(self):
        return f"{hosts.HEAD}:6379"


class Aws:
    """moto behind the signature gate."""
    yaml, type, actor = AWS, "ray.worker.t4", ("1", "T4")

    def __init__(self, tmp):
        self.cloud = eks_rig.Cloud()
        self.cloud.clear()
        self.cloud.subnets()
        self.environment = eks_rig.environment(tmp, AWS_ENDPOINT_URL=self.cloud.url)
        self.billed, self.bought, self.stop = self.cloud.instances, lambda: len(self.cloud.bought()), self.cloud.stop
        self.rejected = self.cloud.rejected

    def types(self):
        return {b["tags"]["davit-type"] for b in self.billed().values()}

    def ended(self):
        ends = [x for x in self.cloud.log(since=0) if x["action"] == "TerminateInstances"]
        return {v for x in ends for k, v in x["form"] if k.startswith("InstanceId")}


class Block(Aws):
    """A Capacity Block of two, which no request gets that does not say so."""
    yaml, actor = BLOCK, ("8", "H100")

    def __init__(self, tmp):
        super().__init__(tmp)
        self.cloud.blocks(of={"cr-0123": 2})

    def types(self):
        runs = [dict(x["form"]) for x in self.cloud.log(since=0) if x["action"] == "RunInstances"]
        assert runs and all(r["InstanceMarketOptions.MarketType"] == "capacity-block" for r in runs)
        return super().types()


class Odcr(Aws):
    yaml = ODCR

    def types(self):
        runs = [dict(x["form"]) for x in self.cloud.log(since=0) if x["action"] == "RunInstances"]
        key = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
        assert runs and all(r[key] == "cr-0456" and "InstanceMarketOptions.MarketType" not in r for r in runs)
        return super().types()


class Gcp:
    """The server that refuses what Google's discovery documents refuse."""
    yaml, type, actor, market = GCP, "ray_worker_t4", ("1", "T4"), "SPOT"

    def __init__(self, tmp):
        self.server = gke_server.Server().__enter__()
        self.cloud = self.server.cloud
        self.cloud.op = 0.2
        hosts.Metadata.token = self.cloud.token
        self.environment = {**without("GOOGLE_", "GCE_", "CLOUDSDK_"), "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": self.server.url,
                            "CLOUDSDK_CONFIG": str(tmp / "none"), "GCE_METADATA_HOST": "169.254.169.254"}

    def billed(self):
        with self.cloud.lock:
            self.cloud.tick()
            return {f"{z}/{n}": {"user_data": base64.b64encode(self.script(i).encode()).decode()} for (z, n), i in self.cloud.bare.items()}

    @staticmethod
    def script(instance):
        return next(x["value"] for x in instance["body"]["metadata"]["items"] if x["key"] == "startup-script")

    def types(self):
        assert all(i["body"]["scheduling"].get("provisioningModel") == self.market for i in self.cloud.bare.values())
        return {i["body"]["labels"]["davit-type"].replace("_5f", "_") for i in self.cloud.bare.values()}

    def bought(self):
        return self.cloud.bought

    def ended(self):
        parts = [urllib.parse.urlsplit(x["target"]).path.split("/") for x in self.cloud.log if x["method"] == "DELETE"]
        return {f"{p[-3]}/{p[-1]}" for p in parts}

    def rejected(self):
        return self.cloud.rejected + self.cloud.bad_replies

    def stop(self):
        self.server.__exit__()


class G2(Gcp):
    """On demand: the server refuses what would be moved at maintenance."""
    yaml, actor, market = G2, ("1", "L4"), None


class A3(Gcp):
    """A reservation of two, which only RESERVATION_BOUND gets."""
    yaml, actor, market = A3, ("8", "H100"), "RESERVATION_BOUND"

    def __init__(self, tmp):
        super().__init__(tmp)
        self.cloud.reservations = {"us-central1-a": {"block-1": 2}}


class Azure:
    """The server that refuses what the models of Azure's SDK refuse."""
    type, actor = "ray.worker.t4", ("1", "T4")

    def __init__(self, tmp):
        self.cloud = azurevm_cloud.Cloud(op_s=0.3)
        self.server = aks_server.Server(self.cloud).__enter__()
        self.yaml = AZURE % self.server.url
        hosts.Metadata.token = self.token
        self.environment = {k: v for k, v in aks_rig.environment().items() if k != "AZURE_CLIENT_ID"}

    def token(self):
        self.cloud.tokens["eyTOKEN"] = time.monotonic() + 3600
        return "eyTOKEN"

    def billed(self):
        with self.cloud.lock:
            self.cloud.move_on()
            return {vm.name: {"user_data": vm.body["properties"]["osProfile"]["customData"]} for vm in self.cloud.vms.values()
                    if vm.provisioning() == "Succeeded"}

    def types(self):
        assert all(vm.body["properties"]["priority"] == "Spot" for vm in self.cloud.vms.values())
        return {vm.body["tags"]["davit-type"] for vm in self.cloud.vms.values()}

    def bought(self):
        return self.cloud.bought

    def ended(self):
        return {x["path"].rsplit("/", 1)[1] for x in self.cloud.log if x["method"] == "DELETE"}

    def rejected(self):
        return self.cloud.rejected + self.cloud.bad_replies + self.cloud.overwritten + sorted(self.cloud.left)

    def stop(self):
        self.server.__exit__()


def said(actors, word, seconds=120):
    """The line of theirs that begins with it: Ray itself says something where a machine takes long to come."""
    end, line = time.monotonic() + seconds, ""
    while not line.startswith(word) and select.select([actors.stdout], [], [], max(0, end - time.monotonic()))[0]:
        line = actors.stdout.readline().decode()
        if not line:
            return "they ended"
    return line


@contextlib.contextmanager
def placed(tmp_path, cloud, kept=0):
    """A head, the hosts of a cloud, a daemon, and two actors on two machines: actors, ids.  kept: GPUs that Ray is asked to keep."""
    (tmp_path / "cluster.yaml").write_text(cloud.yaml)
    (tmp_path / "mounted/.git").mkdir(parents=True)
    (tmp_path / "mounted/deep").mkdir()
    (tmp_path / "mounted/deep/file").write_text("brought\n")
    ray_path = str(raycluster.ray_bin())
    try:
        with Head(port=6379) as ray, hosts.Hosts(cloud.billed, ray_path, tmp_path / "hosts.log"):
            log = open(tmp_path / "davit.log", "w")
            d = subprocess.Popen([BUILD / "davit", "run", "--config", "cluster.yaml"],
                                 cwd=tmp_path, env=cloud.environment, stdout=log, stderr=log)
            try:
                actors = subprocess.Popen([f"{ray_path}/python", "-c", ACTORS, *cloud.actor, str(kept)], env=ray.environment(), stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, bufsize=0)
                line = said(actors, "AT ")
                assert line.startswith("AT "), (line, (tmp_path / "hosts.log").read_text()[-4000:], (tmp_path / "davit.log").read_text()[-3000:])
                bill = cloud.billed()
                assert set(line.split()[1:]) == set(bill) and len(bill) == 2, \
                    ("each actor is on a machine of its own, by its cloud's id", (tmp_path / "davit.log").read_text()[-6000:])
                yield actors, sorted(bill)
            finally:
                actors.kill()
                d.send_signal(signal.SIGTERM)
                d.wait(30)
                log.close()
        assert cloud.rejected() == []
    finally:
        cloud.stop()


@pytest.mark.parametrize("cloud", [Aws, Gcp, Azure, G2, A3, Block, Odcr])
def test_two_actors(tmp_path, cloud):
    cloud = cloud(tmp_path)
    with placed(tmp_path, cloud) as (actors, bill):
        assert cloud.types() == {cloud.type}
        actors.communicate(b"\n", timeout=60)
        until(lambda: not cloud.billed(), seconds=90, why="the machines are still billed")
        assert cloud.ended() == set(bill)
        assert cloud.bought() == 2


def test_a_machine_that_azure_takes_back_is_replaced_before_it_goes(tmp_path):
    """A Preempt in the machine's own metadata: its start script drains its Ray node, and the head tells Davit."""
    cloud = Azure(tmp_path)
    with placed(tmp_path, cloud, kept=2) as (actors, bill):
        try:
            assert said(actors, "KEPT") == "KEPT\n"
            hosts.Metadata.taken = bill[0]
            until(lambda: cloud.bought() == 3, why="no other one is bought")
            assert bill[0] in cloud.billed()
            with cloud.cloud.lock:
                cloud.cloud.evict(bill[0])
            until(lambda: len(set(cloud.billed()) - {bill[0]}) == 2, why="the other one does not come")
            actors.communicate(b"\n", timeout=60)
            until(lambda: not cloud.billed(), why="the machines are still billed")
            assert cloud.bought() == 3
        finally:
            hosts.Metadata.taken = None
