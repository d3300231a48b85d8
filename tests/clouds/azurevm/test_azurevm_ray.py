"""A Ray cluster YAML of azure, as it is: its machines are those of Ray's own
template (azure-vm-template.json), in the network that `ray up` made."""
import base64
import hashlib

import pytest

from aks_rig import Drive, environment
from azurevm_cloud import GROUP, LOCATION, SUB
from lib import BUILD

R = "davit-00112233445566778899"
YAML = """
cluster_name: two-t4
max_workers: 4
provider:
  type: azure
  location: %s
  resource_group: %s
%s
  cache_stopped_nodes: false
%s
auth: {ssh_user: ubuntu}
available_node_types:
  ray.head.default:
    resources: {CPU: 2}
    node_config: {azure_arm_parameters: {vmSize: Standard_D2s_v3, availability_zone: "none"}}
  t4:
    max_workers: 4
    node_config:
      tags: {team: ml}
      azure_arm_parameters:
        vmSize: Standard_NC4as_T4_v3
        imagePublisher: microsoft-dsvm
        imageOffer: ubuntu-2204
        imageSku: 2204-gen2
        imageVersion: latest
%s
head_node_type: ray.head.default
setup_commands: [echo set up]
davit:
  head: {ray: {address: 10.1.2.3:6379}}
  providers: {azurevm: {endpoint: "%s", authority: "%s", imds: "%s"}}
"""


@pytest.fixture
def machine(server, cloud, tmp_path):
    def launch(provider="", parameters="", subscription=f"  subscription_id: {SUB}", status="OK", **kw):
        more = "\n".join("        " + x for x in parameters.split("\n"))
        text = YAML % (LOCATION, GROUP, subscription, provider, more, server.url, server.url, server.url)
        with Drive(tmp_path, text, "azurevm", environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))) as d:
            r = d.launch(1, R, **kw)
            assert r["status"] == status, r
            if status != "OK":
                return r
            d.running(1)
        return next(iter(cloud.vms.values())).body
    return launch


def ids(kind, name, group=GROUP):
    return f"/subscriptions/{SUB}/resourceGroups/{group}/providers/{kind}/{name}"


def test_as_it_is(machine):
    b = machine()
    p, ray = b["properties"], "ray-two-t4-" + hashlib.sha256(GROUP.encode()).hexdigest()[:4]
    assert p["storageProfile"] == {
        "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-2204", "sku": "2204-gen2", "version": "latest"},
        "osDisk": {"createOption": "FromImage", "deleteOption": "Delete", "managedDisk": {"storageAccountType": "Standard_LRS"}}}
    assert p["osProfile"]["adminUsername"] == "ubuntu" and p["hardwareProfile"] == {"vmSize": "Standard_NC4as_T4_v3"}
    [nic] = p["networkProfile"]["networkInterfaceConfigurations"]
    [ip] = nic["properties"]["ipConfigurations"]
    assert nic["properties"]["networkSecurityGroup"] == {"id": ids("Microsoft.Network/networkSecurityGroups", ray + "-nsg")}
    assert ip["properties"]["subnet"] == {"id": ids("Microsoft.Network/virtualNetworks", f"{ray}-vnet/subnets/{ray}-subnet")}
    assert "publicIPAddressConfiguration" in ip["properties"], "Ray's machines have an address, without use_internal_ips"
    assert b["identity"]["userAssignedIdentities"] == {ids("Microsoft.ManagedIdentity/userAssignedIdentities", ray + "-msi"): {}}
    assert b["tags"] == {"team": "ml", "davit-cluster": "two-t4", "davit-type": "t4", "davit-request": R}
    assert "zones" not in b and "priority" not in p
    script = base64.b64decode(p["osProfile"]["customData"]).decode()
    assert "echo set up" in script and "export RAY_HEAD_IP='10.1.2.3'" in script and "ray start --address=$RAY_HEAD_IP:6379" in script


def test_what_else_it_may_say(machine):
    b = machine(provider="  use_internal_ips: true\n  unique_id: RAY1\n  msi_name: shared\n  msi_resource_group: ids\n  availability_zone: '1,2'",
                parameters="osDiskSize: 200\npriority: Spot\nbillingProfile: {maxPrice: 0.3}\nenableAcceleratedNetworking: true\n"
                           "availability_zone: '3'", zone="3", spot=True)
    p = b["properties"]
    [nic] = p["networkProfile"]["networkInterfaceConfigurations"]
    assert "publicIPAddressConfiguration" not in nic["properties"]["ipConfigurations"][0]["properties"]
    assert nic["properties"]["enableAcceleratedNetworking"] is True and "ray-two-t4-RAY1-nsg" in nic["properties"]["networkSecurityGroup"]["id"]
    assert b["identity"]["userAssignedIdentities"] == {ids("Microsoft.ManagedIdentity/userAssignedIdentities", "shared", "ids"): {}}
    assert b["zones"] == ["3"] and p["storageProfile"]["osDisk"]["diskSizeGB"] == 200
    assert (p["priority"], p["evictionPolicy"], p["billingProfile"]) == ("Spot", "Delete", {"maxPrice": 0.3})


def test_an_image_by_its_id(machine):
    b = machine(parameters="imageId: /subscriptions/s/images/i")
    assert b["properties"]["storageProfile"]["imageReference"] == {"id": "/subscriptions/s/images/i"}, "as Ray's template has it"


def test_the_subscription_is_that_of_the_head(machine, cloud):
    r = machine(subscription="", status="RETRY")
    assert r["code"] == "subscription" and "set subscription" in r["text"], r
    cloud.metadata = {"/metadata/instance/compute/subscriptionId": SUB}
    machine(subscription="")
