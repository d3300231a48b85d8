"""The EC2 plug-in against moto behind the signature gate."""
import base64
import subprocess
import urllib.parse

import boto3
import pytest

from eks_rig import BUILD, environment

R = "davit-00112233445566778899"
NODE_CONFIG = """
  t4:
    provider: ec2
    machine: g4dn.xlarge
    zones: [us-east-1b]
    resources: {CPU: 4, GPU: 1}
    options:
      node_config:
        ImageId: ami-12c6146b
        InstanceType: g4dn.xlarge
        KeyName: people
        MinCount: 1
        MaxCount: 1
        BlockDeviceMappings:
          - {DeviceName: /dev/sda1, Ebs: {VolumeSize: 140, VolumeType: gp3}}
        TagSpecifications:
          - {ResourceType: instance, Tags: [{Key: team, Value: ml}]}
        MetadataOptions: {HttpTokens: required}
"""


def forms(cloud, action):
    return [dict(x["form"]) for x in cloud.log(since=0) if x["action"] == action]


def test_life(cloud, drives):
    d = drives()
    r = d.launch(2, R)
    assert r["status"] == "OK" and len(r["machines"]) == 2, r
    got = d.running(2)
    assert {m["request"] for m in got} == {R} and {m["type"] for m in got} == {"t4"}
    bill = cloud.instances()
    assert {m["id"] for m in got} == set(bill)
    assert all(m["address"] == bill[m["id"]]["address"] and m["zone"] == bill[m["id"]]["zone"] for m in got)
    assert all(b["tags"]["davit-cluster"] == "drive" and b["tags"]["davit-type"] == "t4" for b in bill.values())
    assert d.end(got[0]["id"])["status"] == "OK"
    assert set(cloud.instances()) == {got[1]["id"]}
    assert d.until(lambda: [m["id"] for m in d.list("RUNNING")] == [got[1]["id"]])
    assert d.end(got[1]["id"], got[0]["id"])["status"] == "OK", "ended twice"
    assert cloud.instances() == {}


def test_same_request_same_machines(cloud, drives):
    d = drives()
    first = {m["id"] for m in d.launch(2, R)["machines"]}
    assert {m["id"] for m in d.launch(2, R)["machines"]} == first
    assert {m["id"] for m in drives().launch(2, R)["machines"]} == first, "after a restart"
    assert set(cloud.instances()) == first
    assert {m["id"] for m in d.launch(1, "davit-00112233445566770000")["machines"]} & first == set()


def test_console(cloud, drives):
    d = drives()
    [m] = d.launch(1, R)["machines"]
    r = d.call("terminate", ids=[m["id"]], consoles=True)
    assert r["status"] == "OK" and "Linux version 2.6.16-xenU" in r["consoles"][m["id"]], "moto's own, in base64"
    [x] = forms(cloud, "GetConsoleOutput")
    assert (x["InstanceId"], x["Latest"]) == (m["id"], "true")


def test_console_of_an_older_machine(cloud, drives):
    d = drives()
    [m] = d.launch(1, R)["machines"]
    cloud.fault(action="GetConsoleOutput", kind="error", code="UnsupportedOperation", text="Latest is for Nitro", status=400)
    r = d.call("terminate", ids=[m["id"]], consoles=True)
    assert "Linux version 2.6.16-xenU" in r["consoles"][m["id"]]
    assert ["Latest" in x for x in forms(cloud, "GetConsoleOutput")] == [True, False]


@pytest.mark.parametrize("kind", ["lost", "cut", "reset"])
def test_a_lost_reply_buys_once(cloud, drives, kind):
    cloud.fault(action="RunInstances", kind=kind)
    d = drives()
    assert d.launch(1, R)["status"] == "RETRY"
    assert d.launch(1, R)["status"] == "OK"
    assert len(cloud.instances()) == 1


def test_a_lost_reply_and_a_list_that_lags(cloud, drives):
    cloud.lag(seconds=3600)
    cloud.fault(action="RunInstances", kind="lost")
    d = drives()
    assert d.launch(1, R)["status"] == "RETRY"
    r = d.launch(1, R)
    assert r["status"] == "OK" and [m["id"] for m in r["machines"]] == list(cloud.instances())


def test_a_token_used_with_other_parameters_buys_nothing(cloud, drives):
    cloud.lag(seconds=3600)
    drives().launch(1, R)
    edited = drives(types="""
  t4: {provider: ec2, machine: g4dn.xlarge, max: 20, options: {image: ami-12c6146b, key: another}}
""")
    assert edited.launch(1, R)["status"] == "RETRY", "the list does not show it yet"
    cloud.lag(seconds=0)
    assert edited.launch(1, R)["status"] == "OK"
    assert len(cloud.instances()) == 1


def test_part_of_it(cloud, drives):
    cloud.shelf(zone="us-east-1a", left=2)
    d = drives(types="""
  t4: {provider: ec2, machine: g4dn.xlarge, zones: [us-east-1a, us-east-1b], options: {image: ami-12c6146b}}
""")
    r = d.launch(5, R, zone="us-east-1a")
    assert r["status"] == "STOCKOUT" and len(r["machines"]) == 2, r
    r = d.launch(3, "davit-00112233445566770001", zone="us-east-1a")
    assert r["status"] == "STOCKOUT" and r["machines"] == []
    r = d.launch(3, "davit-00112233445566770002", zone="us-east-1b")
    assert r["status"] == "OK" and {m["zone"] for m in r["machines"]} == {"us-east-1b"}
    assert len(cloud.instances()) == 5


def test_the_subnet_of_the_zone(cloud, drives):
    z = cloud.zones
    d = drives(options=f", subnets: [{z['us-east-1a']}, {z['us-east-1c']}], security_groups: []", types="""
  t4: {provider: ec2, machine: g4dn.xlarge, zones: [us-east-1a, us-east-1b, us-east-1c], options: {image: ami-12c6146b}}
""")
    [m] = d.launch(1, R, zone="us-east-1c")["machines"]
    assert cloud.instances()[m["id"]]["subnet"] == z["us-east-1c"]
    r = d.launch(1, "davit-00112233445566770001", zone="us-east-1b")
    assert r["status"] == "INVALID" and "subnet" in r["text"], r
    offers = {(o["zone"], o["available"]) for o in d.call("offers")["offers"]}
    assert offers == {("us-east-1a", True), ("us-east-1b", False), ("us-east-1c", True)}


def test_node_config_goes_as_the_sdk_sends_it(cloud, drives):
    """Our form, parameter by parameter, is botocore's for the same node_config."""
    d = drives(types=NODE_CONFIG)
    assert d.launch(1, R, zone="us-east-1b")["status"] == "OK"
    [ours] = forms(cloud, "RunInstances")
    sent = {}
    c = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y")

    def catch(request, **_):
        sent.update(urllib.parse.parse_qsl(request.body if isinstance(request.body, str) else request.body.decode()))
        raise KeyboardInterrupt
    c.meta.events.register("before-send.ec2.RunInstances", catch)
    tags = [{"Key": "davit-cluster", "Value": "drive"}, {"Key": "davit-type", "Value": "t4"}, {"Key": "davit-request", "Value": R}]
    more = [{"Key": k[5:], "Value": v} for k, v in ()]
    with pytest.raises(KeyboardInterrupt):
        c.run_instances(
            ImageId="ami-12c6146b", InstanceType="g4dn.xlarge", KeyName="people", MinCount=1, MaxCount=1, ClientToken=R,
            BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 140, "VolumeType": "gp3"}}],
            TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "ml"}] + tags + more},
                               {"ResourceType": "volume", "Tags": tags + more}],
            MetadataOptions={"HttpTokens": "required"}, InstanceInitiatedShutdownBehavior="terminate",
            Placement={"AvailabilityZone": "us-east-1b"})
    assert ours == sent


def test_user_data_joins(cloud, drives):
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", types="""
  t4:
    provider: ec2
    machine: g4dn.xlarge
    resources: {CPU: 4, GPU: 1}
    options: {image: ami-12c6146b, user: ubuntu, join: "ray start --address=$RAY_HEAD_IP:6379"}
""")
    [m] = d.launch(1, R, token="0123456789abcdef" * 2)["machines"]
    text = base64.b64decode(cloud.instances()[m["id"]]["user_data"]).decode()
    assert "0123456789abcdef" * 2 in text and "export DAVIT_JOIN RAY_OVERRIDE_LABELS=" in text
    assert text.startswith("#!/bin/bash\n") and "ray start --address=$RAY_HEAD_IP:6379" in text
    assert "export RAY_HEAD_IP='10.1.2.3'" in text and "export RAY_NODE_TYPE_NAME='t4'" in text
    assert """RAY_OVERRIDE_RESOURCES='{"CPU":4.0,"GPU":1.0""" in text
    p = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    assert p.returncode == 0, p.stderr


def test_aws_ends_it_itself(cloud, drives):
    d = drives()
    [m] = d.launch(1, R)["machines"]
    cloud.broken(id=m["id"], code="Server.InsufficientInstanceCapacity", text="Insufficient capacity to satisfy instance request")
    [f] = d.failed(1)
    assert f["failure"] == "STOCKOUT" and "capacity" in f["detail"], f
    assert d.end(m["id"])["status"] == "OK"
    assert d.list() == [], "what was ended as asked is no news"


@pytest.mark.parametrize("code, status", [
    ("VcpuLimitExceeded", "QUOTA"), ("UnauthorizedOperation", "AUTH"), ("InvalidAMIID.NotFound", "INVALID"),
    ("RequestLimitExceeded", "THROTTLED"), ("Unavailable", "RETRY"), ("InsufficientInstanceCapacity", "STOCKOUT")])
def test_errors(cloud, drives, code, status):
    cloud.fault(action="RunInstances", kind="error", code=code, text="as it says")
    r = drives().launch(1, R)
    assert r["status"] == status and r["machines"] == []
    assert cloud.instances() == {}


def test_others_are_not_listed_and_not_found_is_done(cloud, drives):
    d = drives()
    [m] = d.launch(1, R)["machines"]
    r = d.end("i-0123456789abcdef0", m["id"])
    assert r["done"] == {"i-0123456789abcdef0": "NOT_FOUND", m["id"]: "OK"}, r
    assert cloud.instances() == {}


def limits(**more):
    return {code.replace("_", "-"): [f"name of {code}", value] for code, value in more.items()}


def test_quotas(cloud, drives):
    """In vCPUs of a family and market, less what runs in the account, whoever's it is."""
    def offers(d):
        return {(o["type"], o["spot"]): (o["available"], o["most"], o["note"]) for o in d.call("offers")["offers"]}
    types = ("  t4: {provider: ec2, machine: g4dn.xlarge, resources: {CPU: 4, GPU: 1}, spot: true, options: {image: ami-12c6146b}}\n"
             "  t42: {provider: ec2, machine: g4dn.2xlarge, resources: {CPU: 8, GPU: 1}, options: {image: ami-12c6146b}}\n"
             "  cpu: {provider: ec2, machine: m5.large, resources: {CPU: 2}, options: {image: ami-12c6146b}}\n")
    d = drives(types=types)
    cloud.service_quotas(of=limits(L_DB2E81BA=18.0, L_3819A6DF=8.0))
    want = {("t4", False): (True, 4, ""), ("t4", True): (True, 2, ""), ("t42", False): (True, 2, ""), ("cpu", False): (True, -1, "")}
    assert offers(d) == want
    of = {(o["type"], o["spot"]): o["quotas"] for o in d.call("offers")["offers"]}
    g, spot = "L-DB2E81BA (name of L_DB2E81BA)", "L-3819A6DF (name of L_3819A6DF)"
    assert of == {("t4", False): {g: [18, 4]}, ("t4", True): {spot: [8, 4]}, ("t42", False): {g: [18, 8]}, ("cpu", False): {}}
    d.launch(1, R, type="t42")
    d.launch(1, "davit-00112233445566770001", type="t4", spot=True)
    d.launch(1, "davit-00112233445566770002", type="cpu")
    got = offers(d)
    assert got["t42", False] == (True, 1, "") and got["t4", True] == (True, 1, "") and got["cpu", False] == (True, -1, ""), got
    cloud.service_quotas(of=limits(L_DB2E81BA=14.0, L_3819A6DF=0.0, L_1216C47A=3.0))
    got = offers(d)
    assert got["t42", False] == (False, -1, "quota L-DB2E81BA (name of L_DB2E81BA): 8 of 14 vCPUs used, a machine takes 8"), got
    assert got["t4", True][0] is False and "0 vCPUs used" in got["t4", True][2], got
    assert got["cpu", False] == (False, -1, "quota L-1216C47A (name of L_1216C47A): 2 of 3 vCPUs used, a machine takes 2"), got
    assert [x["json"] for x in cloud.log() if x["action"] == "GetServiceQuota"][0] == {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}


@pytest.mark.parametrize("action,code", [("GetServiceQuota", "AccessDeniedException"), ("GetServiceQuota", "ServiceException"), ("DescribeInstances", "UnauthorizedOperation")])
def test_quotas_that_cannot_be_read(cloud, drives, action, code):
    cloud.service_quotas(of=limits(L_DB2E81BA=0.0))
    cloud.fault(action=action, kind="error", code=code, status=400, times=-1)
    d = drives()
    for _ in range(2):
        r = d.call("offers")
        assert r["status"] == "OK" and {(o["available"], o["most"]) for o in r["offers"]} == {(True, -1)}, r
    assert d.text().count("offers are made without quotas: " + code) == 1, d.text()


@pytest.mark.parametrize("types, says", [
    ("  t4: {provider: ec2, machine: g4dn.xlarge}", "an image"),
    ("  t4: {provider: ec2, machine: g4dn.xlarge, options: {image: ubuntu}}", "ami-"),
    ("  t4: {provider: ec2, machine: g4dn.xlarge, options: {image: ami-1, subnets: [vpc-1]}}", "subnet-"),
])
def test_mistakes_have_a_line(tmp_path, types, says):
    f = tmp_path / "davit.yaml"
    f.write_text(f"cluster: c\nproviders:\n  ec2: {{region: us-east-1}}\nnode_types:\n{types}\n")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True, env=environment(tmp_path))
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


def test_contract(cloud, tmp_path):
    def ctl(name, body):
        return f"curl -fsS -o /dev/null --noproxy '*' {cloud.url}/_test/{name} -d '{body}'"

    def fault(action, code, status=400):
        return ctl("fault", '{"action":"%s","kind":"error","code":"%s","status":%d,"times":-1}' % (action, code, status))
    faults = {"THROTTLED": fault("*", "RequestLimitExceeded"), "AUTH": fault("*", "UnauthorizedOperation", 403),
              "RETRY": ctl("fault", '{"action":"*","kind":"html","times":-1}'),
              "QUOTA": fault("RunInstances", "VcpuLimitExceeded"), "STOCKOUT": fault("RunInstances", "InsufficientInstanceCapacity", 500),
              "INVALID": fault("RunInstances", "InvalidAMIID.NotFound")}
    args = [str(BUILD / "tests" / "check_provider"), str(BUILD / "plugins" / "davit-ec2.so"), "-t", "t4", "-r", "GPU=1",
            "-m", "g4dn.xlarge", "-O", "image=ami-12c6146b", "-z", "us-east-1a", "-o", "region=us-east-1", "-o", f"endpoint={cloud.url}",
            "--ready", "20", "--gone", "20", "--call", "20", "--settle", "0.05", "--heal", ctl("heal", "{}")]
    for status, command in faults.items():
        args += ["--fault", f"{status}={command}"]
    p = subprocess.run(args, capture_output=True, text=True, timeout=400, env=environment(tmp_path))
    print(p.stdout[-4000:])
    assert p.returncode == 0, p.stdout[-3000:] + p.stderr[-3000:]
    assert " 0 broken, 0 skipped" in p.stdout
    assert cloud.instances() == {}


def test_spot_prices(cloud, drives):
    """By EC2's price history, for each zone; who may not read it has none."""
    def prices(d):
        r = d.call("offers")
        assert r["status"] == "OK", r
        return {(o["zone"], o["spot"]): o["price"] for o in r["offers"]}
    types = "  t4: {provider: ec2, machine: g4dn.xlarge, zones: [us-east-1a, us-east-1b], resources: {CPU: 4}, spot: true, options: {image: ami-12c6146b}}\n"
    d = drives(types=types)
    got = prices(d)
    assert sorted(got) == [(z, s) for z in ("us-east-1a", "us-east-1b") for s in (False, True)]
    assert all(0 < p < 100e6 if spot else p == -1 for (_, spot), p in got.items()), got
    asked = [dict(x["form"]) for x in cloud.log() if x["action"] == "DescribeSpotPriceHistory"]
    assert [(a["AvailabilityZone"], a["InstanceType.1"]) for a in asked] == [("us-east-1a", "g4dn.xlarge"), ("us-east-1b", "g4dn.xlarge")]
    cloud.fault(action="DescribeSpotPriceHistory", kind="error", code="UnauthorizedOperation", status=403, times=-1)
    assert set(prices(d).values()) == {-1}
