"""The test cloud itself is judged: Microsoft's own SDK must be able to use it."""
import json

import pytest

import aks_schema
from aks_cloud import CLUSTER, GROUP, SUB, Cloud
from aks_server import CLIENT, SECRET, TENANT, Server, self_signed


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def sdk(certificate, monkeypatch):
    from azure.identity import ClientSecretCredential
    from azure.mgmt.containerservice import ContainerServiceClient
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    cloud = Cloud(op_s=0.05, headers=("azure",))
    cloud.pool("gpu", ["1"])
    with Server(cloud, certificate) as s:
        credential = ClientSecretCredential(TENANT, CLIENT, SECRET, authority=s.url, disable_instance_discovery=True)
        yield cloud, ContainerServiceClient(credential, SUB, base_url=s.url, polling_interval=0,
                                            credential_scopes=["https://management.azure.com/.default"])
    assert cloud.rejected == []


def test_the_sdk_scales_and_deletes(sdk):
    from azure.core import MatchConditions
    from azure.core.exceptions import HttpResponseError
    from azure.mgmt.containerservice.models import AgentPoolDeleteMachinesParameter
    cloud, client = sdk
    pool = client.agent_pools.get(GROUP, CLUSTER, "gpu")
    pool.count = 2
    how = {"etag": pool.e_tag, "match_condition": MatchConditions.IfNotModified}
    done = client.agent_pools.begin_create_or_update(GROUP, CLUSTER, "gpu", pool, **how).result()
    assert done.provisioning_state == "Succeeded" and done.count == 2
    names = [m.name for m in client.machines.list(GROUP, CLUSTER, "gpu")]
    assert names == cloud.machines() and len(names) == 2
    client.agent_pools.begin_delete_machines(GROUP, CLUSTER, "gpu",
                                             AgentPoolDeleteMachinesParameter(machine_names=names[:1])).result()
    assert cloud.machines() == names[1:] and cloud.targets() == {"gpu": 1}
    with pytest.raises(HttpResponseError) as e:  # the eTag of long ago
        client.agent_pools.begin_create_or_update(GROUP, CLUSTER, "gpu", pool, **how)
    assert e.value.status_code == 412


def test_the_sdk_sees_a_failed_raise(sdk):
    from azure.core.exceptions import HttpResponseError
    cloud, client = sdk
    cloud.pools["gpu"].stock = 0
    pool = client.agent_pools.get(GROUP, CLUSTER, "gpu")
    pool.count = 1
    with pytest.raises(HttpResponseError) as e:
        client.agent_pools.begin_create_or_update(GROUP, CLUSTER, "gpu", pool).result()
    assert e.value.error.code == "ReconcileVMSSAgentPoolFailed" and "AllocationFailed" in e.value.error.message
    cloud.lost_work.clear()


def test_the_schema_is_what_the_installed_sdk_exports():
    assert json.loads(aks_schema.PATH.read_text()) == aks_schema.export()


@pytest.mark.parametrize("body", [
    {"properties": {"count": "3"}}, {"properties": {"count": True}}, {"count": 3}, {"id": "x", "properties": {}},
    {"properties": {"provisioningState": "Succeeded"}}, {"properties": {"node_taints": []}},
    {"properties": {"nodeTaints": "a"}}, {"properties": {"tags": {"a": 1}}}, {"properties": {"powerState": "Running"}}])
def test_bodies_the_schema_rejects(body):
    assert aks_schema.problems("AgentPool", body)
    assert not aks_schema.problems("AgentPool", {"properties": {"count": 3, "tags": {"a": "b"}}})
