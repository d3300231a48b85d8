"""What Google refuses of GPUs, reservations and flex start, and what a user's own words come to."""
import json
import subprocess

import pytest

from gke_discovery import Api
from gke_rig import BUILD, environment

R = "davit-00112233445566778899"
A, B = "us-central1-a", "us-central1-b"


def typed(machine, more="", node_config=""):
    config = f", options: {{node_config: {{{node_config}}}}}" if node_config else ""
    return f"  x: {{provider: gce, machine: {machine}, zones: [{A}, {B}]{more}{config}}}\n"


def body(cloud):
    [i] = cloud.bare.values()
    return i["body"]


@pytest.mark.parametrize("machine", ["g2-standard-8", "a2-highgpu-1g", "a3-highgpu-8g", "n1-standard-8+t4"])
def test_whatever_has_gpus_is_terminated_at_maintenance(cloud, drives, machine):
    d = drives(types=typed(machine))
    r = d.launch(1, R, type="x", zone=A)
    assert r["status"] == "OK", r
    assert body(cloud)["scheduling"] == {"onHostMaintenance": "TERMINATE", "automaticRestart": True}


@pytest.mark.parametrize("machine, disk", [("g2-standard-8", "pd-balanced"), ("n4-standard-8", "hyperdisk-balanced"), ("e2-standard-8", None)])
def test_a_disk_that_goes_with_the_machine(cloud, drives, machine, disk):
    assert drives(types=typed(machine)).launch(1, R, type="x", zone=A)["status"] == "OK"
    kind = body(cloud)["disks"][0]["initializeParams"].get("diskType")
    assert (kind and kind.split("/")[-1]) == disk


def test_what_never_fits_is_no_stockout(cloud, drives):
    cloud.fail_ops = {"insert": ["ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "[pd-standard, n4-standard-16] features are not compatible for creating instance."]}
    assert drives(types=typed("e2-standard-8")).launch(1, R, type="x", zone=A)["status"] == "INVALID"


def test_others_migrate(cloud, drives):
    d = drives(types=typed("e2-standard-8"))
    assert d.launch(1, R, type="x", zone=A)["status"] == "OK"
    assert body(cloud)["scheduling"] == {"automaticRestart": True}


def test_a_reservation_is_used(cloud, drives):
    cloud.reservations = {A: {"block-1": 1}}
    d = drives(types=typed("a3-highgpu-8g", node_config="""
        scheduling: {provisioningModel: RESERVATION_BOUND},
        reservationAffinity: {consumeReservationType: SPECIFIC_RESERVATION, key: compute.googleapis.com/reservation-name, values: [block-1]}"""))
    assert d.launch(1, R, type="x", zone=A)["status"] == "OK"
    assert body(cloud)["scheduling"] == {"provisioningModel": "RESERVATION_BOUND", "onHostMaintenance": "TERMINATE",
                                         "automaticRestart": True, "instanceTerminationAction": "DELETE"}
    r = d.launch(1, "davit-00112233445566770001", type="x", zone=A)
    assert r["status"] == "STOCKOUT" and r["machines"] == [], r
    assert d.launch(1, "davit-00112233445566770002", type="x", zone=B)["status"] == "NOT_FOUND", "it is in the other zone"


def test_flex_start(cloud, drives):
    d = drives(types=typed("a3-highgpu-8g", node_config="scheduling: {provisioningModel: FLEX_START, maxRunDuration: {seconds: 7200}}"))
    assert d.launch(1, R, type="x", zone=A)["status"] == "OK"
    b = body(cloud)
    assert b["scheduling"] == {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "7200"}, "automaticRestart": False,
                               "onHostMaintenance": "TERMINATE", "instanceTerminationAction": "DELETE"}
    assert b["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    for i in cloud.bare.values():
        i["status"] = "PENDING"
    assert [(m["phase"], m["queued"]) for m in d.list()] == [("STARTING", True)], "it waits for its capacity"


@pytest.mark.parametrize("types, says", [
    (typed("n1-standard-8", node_config="scheduling: {provisioningModel: SPOT}, sourceInstanceTemplate: t"), "spot: true"),
    (typed("n1-standard-8", node_config="scheduling: [{preemptible: true}], sourceInstanceTemplate: t"), "spot: true"),
    (typed("n1-standard-8", ", spot: true", "scheduling: {provisioningModel: FLEX_START}, sourceInstanceTemplate: t"), "FLEX_START"),
    (typed("n1-standard-8", node_config="machineType: n1-standard-16, sourceInstanceTemplate: t"), "n1-standard-16"),
    (typed("n1-standard-8", node_config="name: mine, sourceInstanceTemplate: t"), "not yours to say"),
    (typed("n1-standard-8", node_config="zone: us-central1-f, sourceInstanceTemplate: t"), "not yours to say"),
])
def test_what_cannot_be_done_is_told(tmp_path, server, types, says):
    f = tmp_path / "davit.yaml"
    f.write_text(f"cluster: c\nproviders:\n  gce: {{project: p}}\nnode_types:\n{types}")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True,
                       env={**environment(server), "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")})
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


# ---- nothing that a user wrote is dropped

# Davit's own: to write them is refused (above); the template's own word has a test of its own.
OURS = {"name", "zone", "id", "status", "machineType"}
# What a zone's name is part of is made that of the launch's zone, as the README says.
OF_ZONE = {"diskType", "acceleratorType"}


def leaves(schemas, name, path=(), seen=()):
    """Every field of an instance that a person may write: (path, schema)."""
    for key, s in schemas[name].get("properties", {}).items():
        here = path + (key,)
        if "[Output Only]" in s.get("description", "") or (not path and key in OURS):
            continue
        many = s.get("type") == "array"
        item = s.get("items", s)
        here += (0,) if many else ()
        ref = item.get("$ref")
        if ref:
            if seen.count(ref) < 1:
                yield from leaves(schemas, ref, here, seen + (ref,))
        elif "additionalProperties" in item:
            inner = item["additionalProperties"].get("$ref")
            if inner:
                yield from leaves(schemas, inner, here + ("k1",), seen + (inner,))
            else:
                yield here + ("k1",), {"type": "string"}
        elif item.get("type") != "any":
            yield here, item


def value_of(path, s):
    """(as people write it, as Google's JSON has it)"""
    if s.get("type") == "boolean":
        return "true", True
    if s.get("type") == "integer":
        return "3", 3
    if s.get("type") == "number":
        return "3", 3
    if "enum" in s:
        return s["enum"][-1], s["enum"][-1]
    if s.get("format") in ("int64", "uint64"):
        return "77", "77"
    return "true", "true"  # a text that looks like something else


def at(body, path):
    for key in path:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def nested(path, text):
    for key in reversed(path):
        text = [text] if key == 0 else {key: text}
    return text


def test_nothing_written_in_a_node_config_is_dropped(server, cloud, drives):
    """Every field of Google's own document, alone in a node_config, is in the request as it was written."""
    fields = list(leaves(Api("compute.v1").doc["schemas"], "Instance"))
    assert len(fields) > 120
    types, wants = "", {}
    for i, (path, s) in enumerate(fields):
        text, json_value = value_of(path, s)
        if path == ("scheduling", "provisioningModel"):
            text = json_value = "RESERVATION_BOUND"
        if path[-1] == "machineType":
            text = json_value = "e2-standard-8"
        if path == ("scheduling", "preemptible"):
            continue  # the older word for spot: below
        node = {"sourceInstanceTemplate": "t", **nested(path, text)}
        types += f"  n{i}: {{provider: gce, machine: e2-standard-8, zones: [{A}], options: {{node_config: {json.dumps(node)}}}}}\n"
        wants[f"n{i}"] = path, json_value
    cloud.templates.add("t")
    cloud.refuse = {"insert": [400, "invalid", "only looked at"]}
    d = drives(types=types, image="")
    dropped = []
    for name, (path, want) in wants.items():
        n = len(cloud.log)
        d.launch(1, R, type=name, zone=A)
        sent = [json.loads(x["body"]) for x in cloud.log[n:] if x["method"] == "POST" and "/instances?" in x["target"]]
        got = at(sent[0], path) if sent else None
        if path[-1] in OF_ZONE and isinstance(got, str):
            got = got.rsplit("/", 1)[-1]
        if got != want:
            dropped.append((".".join(map(str, path)), want, got))
    cloud.rejected.clear()  # lone fields are not what Google's schema wants of a whole
    assert dropped == []


def test_a_deletion_that_failed_is_asked_for_anew(cloud, drives):
    """Google answers a request id that it knows with its first operation, also one that failed."""
    d = drives(types=typed("e2-standard-8"))
    [m] = d.launch(1, R, type="x", zone=A)["machines"]
    cloud.fail_ops = {"delete": ["INTERNAL_ERROR", "try later"]}
    assert d.end(m["id"])["status"] == "OK", "accepted"
    cloud.fail_ops = {}
    assert [x["id"] for x in d.list()] == [m["id"]]
    assert d.end(m["id"])["status"] == "OK"
    assert d.until(lambda: d.list() == [])
