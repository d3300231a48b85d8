"""What EC2 refuses of markets, protection and half-shown lists; and that nothing written in a node_config is dropped."""
import base64
import json
import subprocess

import botocore.serialize
import botocore.session
import pytest

from eks_rig import BUILD, environment

R = "davit-00112233445566778899"
AMI = "ami-12c6146b"


def forms(cloud, action):
    return [dict(x["form"]) for x in cloud.log(since=0) if x["action"] == action]


def typed(options, more="", machine="g4dn.xlarge"):
    return f"  t4: {{provider: ec2, machine: {machine}, max: 20{more}, options: {{image: {AMI}, {options}}}}}\n"


def test_one_protected_machine_keeps_no_other(cloud, drives):
    d = drives()
    ids = [m["id"] for m in d.launch(4, R)["machines"]]
    d.running(4)
    cloud.protect(ids=ids[1:2])
    r = d.end(*ids)
    assert r["done"] == {i: "INVALID" if i == ids[1] else "OK" for i in ids}, r
    assert set(cloud.instances()) == {ids[1]}
    [m] = d.list("RUNNING")
    assert m["id"] == ids[1] and "disableApiTermination" in m["held"]
    assert d.end(ids[1])["status"] == "INVALID"
    assert [m["held"] for m in drives().list("RUNNING")] == [""], "another process asks EC2 itself"


def test_a_list_that_shows_one_of_four(cloud, drives):
    """Tags are seen with a delay: fewer than were asked for is no stockout while the token is known."""
    d = drives()
    ids = [m["id"] for m in d.launch(4, R)["machines"]]
    cloud.untag_list(ids=ids[1:])
    assert len(d.list()) == 1
    r = d.launch(4, R)
    assert r["status"] == "OK" and {m["id"] for m in r["machines"]} == set(ids), r
    assert set(cloud.instances()) == set(ids), "and no more are bought"


def test_a_capacity_block_is_used(cloud, drives):
    cloud.blocks(of={"cr-0123": 2})
    d = drives(types=typed("node_config: {InstanceMarketOptions: {MarketType: capacity-block}, "
                           "CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: cr-0123}}}"))
    r = d.launch(3, R)
    assert r["status"] == "STOCKOUT" and len(r["machines"]) == 2, r
    [form] = forms(cloud, "RunInstances")
    assert form["InstanceMarketOptions.MarketType"] == "capacity-block"
    assert form["CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"] == "cr-0123"
    r = d.launch(1, "davit-00112233445566770001")
    assert r["status"] == "STOCKOUT" and r["machines"] == [], r


def test_a_reserved_type_names_its_reservation(cloud, drives):
    d = drives(types=typed("key: people", ", market: reserved, reserved: {id: cr-0123, count: 2}"))
    assert d.launch(1, R)["status"] == "OK"
    [form] = forms(cloud, "RunInstances")
    assert form["CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"] == "cr-0123"


def test_an_interruptible_reservation(cloud, drives):
    d = drives(types=typed("node_config: {InstanceMarketOptions: {MarketType: interruptible-capacity-reservation}}"))
    assert d.launch(1, R)["status"] == "OK"
    [form] = forms(cloud, "RunInstances")
    assert form["InstanceMarketOptions.MarketType"] == "interruptible-capacity-reservation"


def test_without_zones_those_of_the_subnets(cloud, drives):
    z = cloud.zones
    d = drives(types=typed(f"subnets: [{z['us-east-1a']}, {z['us-east-1b']}, {z['us-east-1c']}]"))
    assert {o["zone"] for o in d.call("offers")["offers"]} == {"us-east-1a", "us-east-1b", "us-east-1c"}
    cloud.shelf(zone="us-east-1a", left=0)
    assert d.launch(1, R, zone="us-east-1a")["status"] == "STOCKOUT"
    [m] = d.launch(1, "davit-00112233445566770001", zone="us-east-1b")["machines"]
    assert cloud.instances()[m["id"]]["zone"] == "us-east-1b"


def test_the_subnet_with_most_addresses(cloud, drives):
    a, b = cloud.zones["us-east-1a"], cloud.zones["us-east-1b"]
    d = drives(types=typed(f"subnets: [{a}, {b}]"))
    cloud.addresses(subnet=a, free=0)
    cloud.addresses(subnet=b, free=9)
    d.call("offers")
    [m] = d.launch(1, R, zone="")["machines"]
    assert cloud.instances()[m["id"]]["subnet"] == b
    cloud.addresses(subnet=a, free=10)
    d.call("offers")
    [m] = d.launch(1, "davit-00112233445566770001", zone="")["machines"]
    assert cloud.instances()[m["id"]]["subnet"] == a


def test_a_part_of_a_card(cloud, drives):
    """G6f: Count 0, LogicalGpuCount 1, as DescribeInstanceTypes has it."""
    [o] = drives(types=typed("key: k", ", resources: {CPU: 2, GPU: 1}", "g6f.large")).call("offers")["offers"]
    assert o["resources"]["GPU"] == 1, o


@pytest.mark.parametrize("code, status", [
    ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "INVALID"), ("AuthFailure", "AUTH"), ("OperationNotPermitted", "INVALID"),
    ("ReservationCapacityExceeded", "STOCKOUT")])
def test_codes(cloud, drives, code, status):
    cloud.fault(action="RunInstances", kind="error", code=code, text="as it says")
    assert drives().launch(1, R)["status"] == status


@pytest.mark.parametrize("options, more, says", [
    ("node_config: {InstanceMarketOptions: {MarketType: spot}}", "", "spot: true"),
    ("node_config: {InstanceMarketOptions: {SpotOptions: {MaxPrice: '0.3'}}}", "", "spot: true"),
    ("node_config: {InstanceMarketOptions: {MarketType: capacity-block}}", ", spot: true", "capacity-block"),
    ("node_config: {InstanceType: g4dn.2xlarge}", "", "g4dn.2xlarge"),
    ("node_config: {MaxCount: 5}", "", "not yours to say"),
    ("key: k", ", market: reserved, reserved: {id: block-1, count: 2}", "cr-..."),
    ("key: k", ", market: reserved", "go together"),
    ("key: k", ", reserved: {count: 2}", "go together"),
    ("key: k", ", market: [reserved, spot], reserved: {count: 2}", "a market of its own"),
    ("key: k", ", market: reserved, reserved: {id: cr-1}", "needs count"),
    ("key: k", ", market: reserved, price: 3, reserved: {count: 2}", "leave price out"),
    ("key: k", ", market: reserved, reserved: {count: 2, until: tomorrow}", "must be a time"),
    ("key: k", ", market: reserved, reserved: {count: 2, from: '2026-12-02T00:00:00Z', until: '2026-12-01T00:00:00Z'}", "not after from"),
    ("node_config: {ClientToken: mine}", "", "not yours to say"),
    ("node_config: {Placement: {AvailabilityZone: us-east-1a}}", ", zones: [us-east-1b]", "us-east-1a"),
    ("join: ray start, node_config: {UserData: '#!/bin/sh'}", "", "UserData"),
])
def test_what_cannot_be_done_is_told(tmp_path, options, more, says):
    f = tmp_path / "davit.yaml"
    f.write_text(f"cluster: c\nproviders:\n  ec2: {{region: us-east-1}}\nnode_types:\n{typed(options, more)}")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True, env=environment(tmp_path))
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


# ---- every member of RunInstances

OURS = {"MinCount", "MaxCount", "ClientToken", "DryRun", "InstanceType"}


def leaves(shape, path=(), seen=()):
    for name, member in shape.members.items():
        if not path and name in OURS:
            continue
        yield from within(member, path + (name,), seen)


def within(shape, path, seen):
    if shape.type_name == "list":
        yield from within(shape.member, path + (0,), seen)
    elif shape.type_name == "structure":
        if shape.name not in seen:
            yield from leaves(shape, path, seen + (shape.name,))
    else:
        yield path, shape


def value_of(shape):
    if shape.type_name == "boolean":
        return True
    if shape.type_name in ("integer", "long"):
        return 7
    if shape.type_name in ("float", "double"):
        return 0.5
    if shape.type_name == "timestamp":
        return "2030-01-02T03:04:05Z"
    if shape.type_name == "blob":
        return "#!/bin/sh\necho \"$HOME\"\n"
    return getattr(shape, "enum", None) and shape.enum[-1] or "true"


def nested(path, value):
    for key in reversed(path):
        value = [value] if key == 0 else {key: value}
    return value


def test_nothing_written_in_a_node_config_is_dropped(cloud, drives):
    """Each member of AWS's own model, alone in a node_config, is in the request under the name and with the value that botocore sends."""
    op = botocore.session.Session().get_service_model("ec2").operation_model("RunInstances")
    serializer = botocore.serialize.create_serializer("ec2", include_validation=False)
    fields = list(leaves(op.input_shape))
    assert len(fields) > 100
    types, wants = "", {}
    for i, (path, shape) in enumerate(fields):
        value = value_of(shape)
        spot = path[:2] == ("InstanceMarketOptions", "SpotOptions")
        if path == ("InstanceMarketOptions", "MarketType"):
            value = "capacity-block"
        node = nested(path, value)
        if path[0] == "TagSpecifications":  # of what, decides where ours go
            node["TagSpecifications"][0]["ResourceType"] = "network-interface"
        wire = dict(serializer.serialize_to_request(node, op)["body"])
        node.setdefault("ImageId", AMI)
        wants[f"n{i}"] = {k: str(v) for k, v in wire.items() if k not in ("Action", "Version")}, path, spot
        types += f"  n{i}: {{provider: ec2, machine: m5.large{', spot: true' if spot else ''}, options: {{node_config: {json.dumps(node)}}}}}\n"
    cloud.fault(action="RunInstances", kind="error", code="InvalidParameterValue", text="only looked at", times=-1)
    d = drives(types=types)
    dropped = []
    for name, (want, path, spot) in wants.items():
        n = len(cloud.log())
        d.launch(1, R, type=name, spot=spot)
        sent = [dict(x["form"]) for x in cloud.log(since=n) if x["action"] == "RunInstances"]
        for key, v in want.items():
            got = sent[0].get(key) if sent else None
            if path == ("UserData",):
                got = base64.b64decode(got or "").decode()
                v = value_of(fields[int(name[1:])][1]) if fields[int(name[1:])][1].type_name == "blob" else "true"
            if got != v:
                dropped.append((".".join(map(str, path)), key, v, got))
    assert dropped == []
