"""Bare Azure machines: launches, lists, ends, offers."""
import base64
import json
import socket
import subprocess

import pytest

from aks_rig import environment
from azurevm_cloud import GROUP, LOCATION, MADE_OF, SUB, VM
from conftest import TYPES
from lib import BUILD, spot_watch

R = "davit-00112233445566778899"
R2 = "davit-00112233445566770001"


def only(cloud):
    [vm] = cloud.vms.values()
    return vm.body


def puts(cloud):
    return [x for x in cloud.log if x["method"] == "PUT"]


def test_life(cloud, drives):
    d = drives()
    r = d.launch(2, R, zone="1")
    assert r["status"] == "OK" and [m["phase"] for m in r["machines"]] == ["STARTING"] * 2, r
    got = d.running(2)
    assert {m["request"] for m in got} == {R} and {m["type"] for m in got} == {"t4"} and {m["zone"] for m in got} == {"1"}
    assert sorted(m["id"] for m in got) == cloud.machines()
    assert all(x["headers"]["if-none-match"] == "*" for x in puts(cloud))
    assert d.end(got[0]["id"])["status"] == "OK"
    assert d.until(lambda: [m["id"] for m in d.list("RUNNING")] == [got[1]["id"]])
    d.until(lambda: len(d.list()) == 1)
    r = d.end(got[0]["id"], got[1]["id"], "nonsense", "no/name")
    assert r["status"] == "OK" and r["done"] == {got[0]["id"]: "NOT_FOUND", got[1]["id"]: "OK", "nonsense": "NOT_FOUND", "no/name": "NOT_FOUND"}
    assert d.until(lambda: d.list() == []) and cloud.machines() == []


def test_what_is_made_ends_with_the_machine(cloud, drives):
    """The fixture sees to it that nothing is left."""
    d = drives(options="image: /subscriptions/s/images/i, subnet: net/machines, security_group: nsg, identity: other/ray, public_ip: true, disk: 200, "
               "node_config: {tags: {team: ml, a.b: c}, properties: {storageProfile: {dataDisks: [{lun: 3, createOption: Empty, diskSizeGB: 512}]}}}")
    [m] = d.launch(1, R, zone="1")["machines"]
    b = only(cloud)
    [nic] = b["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    own = f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/Microsoft.Network"
    assert nic["properties"]["networkSecurityGroup"] == {"id": f"{own}/networkSecurityGroups/nsg"}
    [ip] = nic["properties"]["ipConfigurations"]
    assert ip["properties"]["subnet"] == {"id": f"{own}/virtualNetworks/net/subnets/machines"} and "publicIPAddressConfiguration" in ip["properties"]
    assert b["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {
        f"/subscriptions/{SUB}/resourceGroups/other/providers/Microsoft.ManagedIdentity/userAssignedIdentities/ray": {}}}
    assert b["tags"] == {"team": "ml", "a.b": "c", "davit-cluster": "Drive.1", "davit-type": "t4", "davit-request": R}
    s = b["properties"]["storageProfile"]
    assert s["osDisk"]["diskSizeGB"] == 200 and s["dataDisks"] == [{"lun": 3, "createOption": "Empty", "diskSizeGB": 512, "deleteOption": "Delete"}]
    d.end(m["id"])
    d.until(lambda: d.list() == [])


def test_same_request_same_machines(cloud, drives):
    d = drives()
    first = {m["id"] for m in d.launch(2, R, zone="1")["machines"]}
    assert {m["id"] for m in d.launch(2, R, zone="1")["machines"]} == first
    assert {m["id"] for m in drives().launch(3, R, zone="1")["machines"]} > first, "after a restart"
    assert cloud.bought == 3
    assert {m["id"] for m in d.launch(1, R2, zone="1")["machines"]} & first == set()


@pytest.mark.parametrize("do", ["lose", "cut", "reset", "garbage"])
@pytest.mark.parametrize("nth", [0, 1])
def test_a_broken_exchange_buys_once(cloud, drives, do, nth):
    cloud.rules = [{"match": r"^PUT .*-%d$" % nth, "do": do}]
    d = drives()
    assert d.launch(2, R, zone="1")["status"] in ("RETRY", "OK")
    r = d.launch(2, R, zone="1")
    assert r["status"] == "OK" and sorted(m["id"] for m in r["machines"]) == cloud.machines()
    assert cloud.bought == 2


def test_an_accepted_launch_is_adopted_by_its_tags(cloud, drives):
    cloud.rules = [{"match": "^PUT ", "do": "lose"}]
    drives().launch(1, R, zone="1")
    [m] = drives().running(1)
    assert (m["request"], m["type"]) == (R, "t4")


@pytest.mark.parametrize("status, code", [(409, "SomethingNew"), (409, "AnotherOperationInProgress"), (412, "PreconditionFailed")])
def test_a_conflict_over_nothing_is_tried_again(cloud, drives, status, code):
    cloud.rules = [{"match": "^PUT ", "do": "status", "status": status, "code": code}]
    d = drives()
    r = d.launch(1, R, zone="1")
    assert (r["status"], r["code"], r["machines"]) == ("RETRY", code, []), r
    assert d.launch(1, R, zone="1")["status"] == "OK"


def test_a_name_that_is_somebody_elses(cloud, drives):
    d = drives()
    d.launch(1, R, zone="1")
    only(cloud)["tags"]["davit-request"] = "davit-other"
    r = d.launch(1, R, zone="1")
    assert (r["status"], r["code"], r["machines"]) == ("INVALID", "NameTaken", [])


@pytest.mark.parametrize("code", ["AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "SkuNotAvailable"])
def test_a_shortage_is_told_at_once_or_by_the_machine(cloud, drives, code):
    d = drives()
    cloud.short = {"1": (0, code, "sync")}
    r = d.launch(1, R, zone="1")
    assert (r["status"], r["code"], r["machines"]) == ("STOCKOUT", code, []) and cloud.machines() == []
    cloud.short = {"1": (1, code, "later")}
    assert d.launch(2, R2, zone="1")["status"] == "OK"
    [bad] = d.failed(1)
    assert bad["failure"] == "STOCKOUT" and code in bad["detail"] and bad["request"] == R2
    assert d.end(bad["id"])["status"] == "OK"
    d.until(lambda: len(d.list()) == 1)
    assert d.launch(1, "davit-another", zone="2")["status"] == "OK", "the other zone has them"


def test_a_list_that_lacks_one(cloud, drives):
    """The two lists are of two moments: a failed machine is then asked for itself."""
    d = drives()
    cloud.short = {"1": (1, "ZonalAllocationFailed", "later")}
    good, bad = (m["id"] for m in d.launch(2, R, zone="1")["machines"])
    d.failed(1)
    cloud.unseen = [good, bad]
    assert {m["id"]: (m["phase"], m["failure"]) for m in d.list()} == {good: ("RUNNING", "OK"), bad: ("FAILED", "STOCKOUT")}
    cloud.rules = [{"match": "/instanceView$", "do": "status", "status": 500}] * 4
    assert d.call("list")["status"] == "RETRY"
    cloud.rules = [{"match": "/instanceView$", "do": "status", "status": 404, "code": "ResourceNotFound"}]
    assert [m["id"] for m in d.list()] == [good], "gone meanwhile"


def test_part_of_it_and_the_quota(cloud, drives):
    d = drives()
    cloud.quota = 2
    r = d.launch(3, R, zone="1")
    assert r["status"] == "QUOTA" and len(r["machines"]) == 2, r
    assert {o["note"] for o in d.call("offers")["offers"]} == {
        "quota standardNCASv3_T4Family in westeurope: 8 of 8 cores used, a machine takes 4"}
    cloud.quota = None
    assert len(d.launch(3, R, zone="1")["machines"]) == 3 and cloud.bought == 3


def test_throttled(cloud, drives):
    d = drives()
    cloud.rules = [{"match": "^PUT ", "do": "status", "status": 429, "code": "OperationNotAllowed", "headers": {"Retry-After": "7"}}]
    r = d.launch(1, R, zone="1")
    assert (r["status"], r["retry_after_ms"]) == ("THROTTLED", 7000)


def test_pages(cloud, drives):
    d = drives()
    cloud.page = 2
    d.launch(5, R, zone="1")
    assert len(d.running(5)) == 5
    cloud.rules = [{"match": "^GET .*/virtualMachines$", "do": "status", "status": 500, "times": 9}]
    assert d.call("list")["status"] == "RETRY", "a part of a list is no list"


@pytest.mark.parametrize("burst, remaining, waits", [(4, 800, 2), (100, 800, 0), (100, 89, 5)])
def test_lists_keep_to_half_of_azures_limit(cloud, drives, burst, remaining, waits):
    """And take no burst when others have used the limit up."""
    d = drives(options=MADE_OF + f", lists: {{burst: {burst}, every: 300ms}}")
    d.launch(3, R, zone="1")
    cloud.page, cloud.remaining = 1, remaining
    assert len(d.list()) == 3
    at = [x["at"] for x in cloud.log if x["path"].endswith("/virtualMachines")]
    assert len(at) == 6
    took = at[-1] - at[0]       # 300 ms each; less when the first was held up on its way
    assert took >= 0.2 * waits if waits else took < 1


@pytest.mark.parametrize("group_only", [False, True])
def test_stopped_is_ended(cloud, drives, group_only):
    cloud.group_only = group_only
    d = drives()
    d.launch(3, R, zone="1")
    d.running(3)
    a, b, c = (vm for _, vm in sorted(cloud.vms.items()))
    a.power, b.power = "deallocated", "stopped"
    assert {m["id"] for m in d.failed(2)} == {a.name, b.name}
    assert {m["failure"] for m in d.failed(2)} == {"RETRY"}
    c.power = "stopping"
    assert d.phase(1, "STOPPING")
    d.end(a.name, b.name, c.name)
    d.until(lambda: d.list() == [])
    assert ("one by one" in d.text()) == group_only


def test_power_is_asked_for_in_turn_and_remembered(cloud, drives):
    """Who may read the resource group alone: 25 at each list, and no more."""
    cloud.group_only, cloud.op_s = True, 0
    d = drives()
    d.launch(40, R, zone="1")
    for vm in cloud.vms.values():
        vm.power = "deallocated"
    counts = []
    for _ in range(3):
        cloud.log.clear()
        counts.append(len(d.list("FAILED")))
        assert sum(x["path"].endswith("/instanceView") for x in cloud.log) == 25
    assert counts == [25, 40, 40]


def test_a_running_machine_whose_last_change_failed_is_kept(cloud, drives):
    d = drives()
    d.launch(1, R, zone="1")
    d.running(1)
    [vm] = cloud.vms.values()
    vm.state = "Failed"  # an extension that somebody's policy brought
    [m] = d.running(1)
    assert "failed" in m["detail"]


def test_other_machines_are_not_ours(cloud, drives):
    d = drives()
    d.launch(1, R, zone="1")
    body = json.loads(json.dumps(only(cloud)))
    mine = next(iter(cloud.vms.values())).name
    body["tags"] = {"davit-cluster": "other"}
    cloud.vms["their"] = VM("their", body, GROUP, 0)
    twin = VM(mine, body, "rg1-x", 0)
    twin.power = "deallocated"
    cloud.others = [twin]  # of the same name, in another resource group
    assert [m["id"] for m in d.running(1)] == [mine]


def test_spot(cloud, drives):
    types = """
  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, spot: true}
"""
    d = drives(types=types)
    [m] = d.launch(1, R, spot=True)["machines"]
    p = only(cloud)["properties"]
    assert (p["priority"], p["evictionPolicy"], p["billingProfile"]) == ("Spot", "Delete", {"maxPrice": -1}) and "zones" not in only(cloud)
    assert d.running(1)[0]["spot"]
    cloud.evict(m["id"])
    assert d.list() == [], "taken: no disk is left either"
    d = drives(types=types.replace("true}", "true, options: {node_config: {properties: {evictionPolicy: Deallocate, billingProfile: {maxPrice: 0.25}}}}}"))
    [m] = d.launch(1, R2, spot=True)["machines"]
    assert only(cloud)["properties"]["billingProfile"] == {"maxPrice": 0.25}
    d.running(1)
    cloud.evict(m["id"])
    assert "eviction" in d.failed(1)[0]["detail"]
    d.launch(1, "davit-3")
    assert not {"priority", "evictionPolicy", "billingProfile"} & set(list(cloud.vms.values())[-1].body["properties"]), "on demand"


def test_offers(cloud, drives):
    cloud.restricted = ["2"]
    d = drives()
    offers = {o["zone"]: o for o in d.call("offers")["offers"]}
    assert offers["1"]["available"] and not offers["2"]["available"]
    assert offers["2"]["note"] == "Standard_NC4as_T4_v3 is not open to this subscription in westeurope, zone 2"
    assert d.launch(1, R, zone="2")["status"] == "STOCKOUT"
    d.call("offers")
    assert sum(x["path"].endswith("/skus") for x in cloud.log) == 1, "thousands of sizes: read once an hour"
    cloud.group_only = True
    assert all(o["available"] for o in drives().call("offers")["offers"]), "who may not look may buy"


def priced(d):
    r = d.call("offers")
    assert r["status"] == "OK", r
    return {o["spot"]: o["price"] for o in r["offers"]}


def test_prices_of_the_public_list(cloud, drives):
    """The second time, as nobody shall wait for them; then they are kept."""
    d = drives(types=TYPES + "    spot: true\n")
    assert priced(d) == {False: -1, True: -1}
    assert priced(d) == {False: 605000, True: 92100}
    asked = [x for x in cloud.log if x["path"] == "/api/retail/prices"]
    assert len(asked) == 2 and "authorization" not in asked[0]["headers"], "two pages"
    cloud.prices = []
    assert priced(d) == {False: 605000, True: 92100} and len([x for x in cloud.log if x["path"] == "/api/retail/prices"]) == 2


@pytest.mark.parametrize("rule", [{"do": "status", "status": 503}, {"do": "reset"}, {"do": "garbage"}, {"do": "cut"}])
def test_a_price_list_that_cannot_be_read(cloud, drives, rule):
    d = drives()
    cloud.rules = [{"match": "/api/retail/prices", "times": 99, **rule}]
    for _ in range(4):
        assert priced(d) == {False: -1}
    assert d.text().count("Azure's list prices cannot be read") == 1
    asked = len([x for x in cloud.log if x["path"] == "/api/retail/prices"])
    assert asked <= (2 if rule["do"] == "reset" else 1), "not again before ten minutes are over"


def test_a_price_list_that_does_not_answer(cloud, drives):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        d = drives(prices=f"http://127.0.0.1:{silent.getsockname()[1]}")
        priced(d)
        r = d.call("offers")
        assert r["status"] == "OK" and 2500 < r["took_ms"] < 20000, r
        assert d.call("offers")["took_ms"] < 2500, "not waited for again"


def test_no_price_list(cloud, drives):
    d = drives(prices="")
    assert [priced(d) for _ in range(2)] == [{False: -1}] * 2
    assert not [x for x in cloud.log if x["path"] == "/api/retail/prices"]
    assert "list prices" not in d.text(), "the public one was asked"


def test_quotas_shared_by_a_family(cloud, drives):
    """Sizes of one family take of the same cores; spot machines of others, of which nothing is told here."""
    d = drives(types=TYPES + "    spot: true\n")
    cloud.quota = 5
    d.launch(1, R, zone="1")
    got = {(o["zone"], o["spot"]): (o["available"], o["most"], o["quotas"]) for o in d.call("offers")["offers"]}
    family = {"westeurope standardNCASv3_T4Family": [16, 4]}
    assert got == {(z, spot): (True, -1, {}) if spot else (True, 4, family) for z in "12" for spot in (False, True)}


def test_zones_as_the_configuration_writes_them(cloud, drives):
    d = drives(types="""
  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, zones: [westeurope-3]}
""")
    d.launch(1, R, zone="westeurope-3")
    assert only(cloud)["zones"] == ["3"] and d.running(1)[0]["zone"] == "westeurope-3"


def script_of(body):
    return base64.b64decode(body["properties"]["osProfile"]["customData"]).decode()


def test_start_script_joins(cloud, drives):
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", options=MADE_OF + ", user: ubuntu, join: 'ray start --address=$RAY_HEAD_IP:6379'")
    d.launch(1, R, zone="1", token="0123456789abcdef" * 2)
    text = script_of(only(cloud))
    assert "0123456789abcdef" * 2 in text and "export DAVIT_JOIN RAY_OVERRIDE_LABELS=" in text
    assert "export RAY_HEAD_IP='10.1.2.3'" in text and "Metadata: true" in text and "export RAY_NODE_TYPE_NAME='t4'" in text
    p = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    assert p.returncode == 0, p.stderr
    assert "customData" not in json.dumps(cloud.view(list(cloud.vms.values())[0])), "nobody reads it again"


def test_a_head_on_this_instance(cloud, drives):
    cloud.metadata = {"/metadata/instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress": "10.9.8.7",
                      "/metadata/instance/compute/subscriptionId": SUB}
    d = drives(more="head: {ray: {address: 127.0.0.1:6379}}", options=MADE_OF + ", join: 'true'")
    d.launch(1, R, zone="1")
    assert "export RAY_HEAD_IP='10.9.8.7'" in script_of(only(cloud))


def test_a_key_that_nobody_has(cloud, drives):
    d = drives()
    d.launch(2, R, zone="1")
    keys = [vm.body["properties"]["osProfile"]["linuxConfiguration"]["ssh"]["publicKeys"][0]["keyData"] for vm in cloud.vms.values()]
    assert len(set(keys)) == 2
    for k in keys:
        p = subprocess.run(["ssh-keygen", "-l", "-f", "-"], input=k, text=True, capture_output=True)
        assert p.returncode == 0 and "ED25519" in p.stdout, (k, p.stderr)


def test_the_console_of_one_that_does_not_join(cloud, drives):
    d = drives()
    a, b, c = (m["id"] for m in d.launch(3, R, zone="1")["machines"])
    cloud.metadata = {f"/blob/{a}.log": "old\n" * 100000 + "ray: command not found\n"}
    cloud.vms[c].body["properties"]["diagnosticsProfile"]["bootDiagnostics"]["enabled"] = False
    r = d.call("terminate", ids=[a, b, c], consoles=True)
    assert r["status"] == "OK" and set(r["done"].values()) == {"OK"}, "a console that cannot be read keeps no machine"
    assert r["consoles"][a].endswith("ray: command not found") and r["consoles"][b] == r["consoles"][c] == "", r


@pytest.mark.parametrize("types, says", [
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {subnet: a/b}}", "an image"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {image: 'a:b:c:d'}}", "a subnet"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {image: 'a:b:c'}}", "PUBLISHER:OFFER:SKU:VERSION"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {image: 'a:b:c:d', subnet: b}}", "NETWORK/SUBNET"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, zones: [west], options: {image: 'a:b:c:d', subnet: a/b}}", "a zone is a number"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {image: 'a:b:c:d', subnet: a/b, disk: 0}}", "1 to 4095"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {image: 'a:b:c:d', subnet: a/b, node_config: {propertys: {a: b}}}}", "propertys"),
    ("  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, options: {subnet: a/b, node_config: {azure_arm_parameters: {imageID: x}}}}", "imageID"),
])
def test_mistakes_have_a_line(tmp_path, types, says):
    f = tmp_path / "davit.yaml"
    f.write_text(f"cluster: c\nproviders:\n  azurevm: {{subscription: s, resource_group: g, location: {LOCATION}}}\nnode_types:\n{types}\n")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True,
                       env=environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins")))
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


NOTICE = '{"DocumentIncarnation":%d,"Events":[{"EventId":"A-%d","EventStatus":"Scheduled","EventType":"%s","ResourceType":"VirtualMachine",' \
    '"Resources":["%s"],"NotBefore":"Mon, 19 Sep 2022 18:29:47 GMT","Description":"","EventSource":"Platform","DurationInSeconds":-1}]}'


def test_the_start_script_of_a_spot_machine_drains_its_node(cloud, drives, tmp_path):
    """At a Preempt that names it, and at nothing else: an event reaches all machines of an availability set."""
    d = drives(types="  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, market: [spot, on-demand]}\n",
               options=MADE_OF + ", join: ray start --address=$RAY_HEAD_IP:6379, head_ip: 10.0.0.5")
    [m] = d.launch(1, R, spot=True)["machines"]
    text = script_of(only(cloud))
    asked, called = spot_watch.drained(tmp_path, text, m["id"], [
        '{"DocumentIncarnation":1,"Events":[]}', NOTICE % (2, 2, "Reboot", m["id"]), NOTICE % (3, 3, "Preempt", "another"), "not JSON",
        (NOTICE % (4, 4, "Preempt", m["id"].upper())).replace(",", ",\n")])
    assert asked.count("\n") == 5 and "Metadata: true http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01" in asked
    assert called == ("token -m ray.scripts.scripts drain-node --address 10.0.0.5:6379 --node-id ab12 --reason DRAIN_NODE_REASON_PREEMPTION "
                      "--reason-message the cloud takes the machine back --deadline-remaining-seconds 25\n")
    d.launch(1, R2)
    assert "drain-node" not in script_of(list(cloud.vms.values())[-1].body), "on demand"
