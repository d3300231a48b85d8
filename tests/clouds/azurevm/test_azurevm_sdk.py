"""The test cloud is judged by Microsoft's own SDK, and so is each of our
requests: what the SDK sends for the same is what we send."""
import json
import re

import pytest

import azurevm_schema
from aks_server import CLIENT, SECRET, TENANT, Server, self_signed
from azurevm_cloud import GROUP, LOCATION, MADE_OF, SUB, Cloud
from lib import ROOT

R = "davit-00112233445566778899"


@pytest.fixture
def client(tmp_path, monkeypatch):
    from azure.identity import ClientSecretCredential
    from azure.mgmt.compute import ComputeManagementClient
    certificate = self_signed(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    cloud = Cloud(op_s=0.05, headers=("azure",), page=2)
    with Server(cloud, certificate) as s:
        credential = ClientSecretCredential(TENANT, CLIENT, SECRET, authority=s.url, disable_instance_discovery=True)
        yield cloud, ComputeManagementClient(credential, SUB, base_url=s.url, polling_interval=0,
                                             credential_scopes=["https://management.azure.com/.default"])
    assert cloud.rejected == [] and cloud.bad_replies == []


def sent(cloud, method, end):
    """The newest such request, as far as the one who sends it decides."""
    x = [x for x in cloud.log if x["method"] == method and re.search(end, x["path"])][-1]
    headers = {k: v for k, v in x["headers"].items() if k in ("if-none-match", "if-match", "content-type")}
    return x["path"].lower(), x["query"], headers, json.loads(x["raw"] or b"null")


def test_our_requests_are_the_sdks(cloud, drives, client):
    from azure.core import MatchConditions
    theirs, sdk = client
    d = drives(options=MADE_OF + ", public_ip: true, security_group: nsg, identity: ray, disk: 100, join: 'true', head_ip: 10.0.0.4, "
               "ssh_public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEVkMjU1MTk= me, node_config: {tags: {team: ml}}")
    d.launch(2, R, zone="2", spot=True)
    d.running(2)
    names = [vm.name for vm in cloud.vms.values()]
    put = sent(cloud, "PUT", names[1])
    d.call("offers")
    d.launch(2, R, zone="2", spot=True)  # they exist, and are looked at
    cloud.group_only = True
    drives().list()  # power states one by one
    d.call("terminate", ids=[names[0]], consoles=True)
    # The SDK does the same with the same model.
    from azure.mgmt.compute.models import VirtualMachine
    for n in names:
        body = put[3] if n == names[1] else {**put[3], "properties": {**put[3]["properties"], "osProfile": {**put[3]["properties"]["osProfile"], "computerName": n}}}
        model = VirtualMachine(body)
        assert model.storage_profile.os_disk.delete_option == "Delete" and model.billing_profile.max_price == -1
        done = sdk.virtual_machines.begin_create_or_update(GROUP, n, model, etag="*", match_condition=MatchConditions.IfMissing).result()
        assert done.provisioning_state == "Succeeded" and done.network_profile.network_interfaces[0].delete_option == "Delete"
    assert sorted(v.name for v in sdk.virtual_machines.list(GROUP)) == sorted(names)
    powers = {v.name: v.instance_view.statuses[-1].code for v in sdk.virtual_machines.list_all(status_only="true")}
    assert powers == dict.fromkeys(names, "PowerState/running")
    assert sdk.virtual_machines.instance_view(GROUP, names[0]).statuses[-1].code == "PowerState/running"
    assert sdk.virtual_machines.get(GROUP, names[0], expand="instanceView").instance_view.statuses
    assert sdk.virtual_machines.retrieve_boot_diagnostics_data(
        GROUP, names[0], sas_uri_expiration_time_in_minutes=5).serial_console_log_blob_uri.endswith("sig=SIGNED")
    sdk.virtual_machines.begin_delete(GROUP, names[0], force_deletion=True).result()
    list(sdk.resource_skus.list(filter=f"location eq '{LOCATION}'"))
    list(sdk.usage.list(LOCATION))
    assert sent(theirs, "PUT", names[1]) == put
    for method, end in [("DELETE", names[0]), ("POST", "/retrieveBootDiagnosticsData$"), ("GET", f"/{GROUP}/providers/microsoft.compute/virtualmachines$"),
                        ("GET", f"{SUB}/providers/Microsoft.Compute/virtualMachines$"), ("GET", f"{names[0]}$"),
                        ("GET", "/skus$"), ("GET", "/usages$")]:
        end = f"(?i){end}"
        assert without_next(sent(cloud, method, end)) == without_next(sent(theirs, method, end)), (method, end)
    assert sent(cloud, "GET", "/instanceView$")[1:] == sent(theirs, "GET", "/instanceView$")[1:]


def without_next(request):
    """The SDK writes true in other letters, and both follow links to further pages."""
    path, query, headers, body = request
    return path, [(k, v.lower()) for k, v in query if k != "$skiptoken"], headers, body


def test_the_schema_is_what_the_installed_sdk_exports():
    assert json.loads(azurevm_schema.PATH.read_text()) == azurevm_schema.export()


def test_numbers_are_the_models():
    """A YAML's leaves are texts: which are numbers is a list in options.c."""
    text = (ROOT / "providers/azurevm/options.c").read_text()
    ours = set(re.findall(r'"(\w+)"', text[text.index("numbers[] = {"):text.index("/* likewise truths */")])) | {"maxPrice"}
    seen, kinds = set(), {}

    def walk(kind, name):
        if "$ref" in kind:
            if kind["$ref"] not in seen:
                seen.add(kind["$ref"])
                for k, v in azurevm_schema.SCHEMA[kind["$ref"]].items():
                    if not v.get("readOnly"):
                        walk(v, k)
        elif kind.get("type") in ("array", "object"):
            walk(kind.get("items") or kind["additionalProperties"], name)
        else:
            kinds.setdefault(kind.get("type"), set()).add(name)
    walk({"$ref": "VirtualMachine"}, "")
    assert kinds["integer"] | kinds["number"] == ours
    assert not ours & (kinds["string"] | kinds["boolean"])
    truths = text[text.index("truths[] = {"):]
    assert set(re.findall(r'"(\w+)"', truths[:truths.index("}")])) == kinds["boolean"] - kinds["string"]


@pytest.mark.parametrize("body", [
    {"location": 1}, {"properties": {"vmId": "x"}}, {"properties": {"hardware_profile": {}}}, {"properties": {"priority": True}},
    {"properties": {"storageProfile": {"osDisk": {"diskSizeGB": "100"}}}}, {"zones": "1"}, {"tags": {"a": 1}}])
def test_bodies_the_schema_rejects(body):
    assert azurevm_schema.problems("VirtualMachine", body)
