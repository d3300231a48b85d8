"""Nothing that is written in a node_config is dropped; other clouds' API versions; a repetition of many."""
import json
import subprocess

import azurevm_schema
import pytest

from aks_rig import environment
from azurevm_cloud import API
from lib import BUILD

R = "davit-00112233445566778899"
MACHINE = "Standard_D8s_v5"


def typed(node, more="", name="x"):
    return f"  {name}: {{provider: azurevm, machine: {MACHINE}{more}, options: {{node_config: {json.dumps(node)}}}}}\n"


def nested(path, value):
    for key in reversed(path):
        value = [value] if key == 0 else {key: value}
    return value


def leaves(kind, path=(), seen=()):
    if kind.get("readOnly"):
        return
    if "$ref" in kind:
        if kind["$ref"] not in seen:
            for k, v in azurevm_schema.SCHEMA[kind["$ref"]].items():
                yield from leaves(v, path + (k,), seen + (kind["$ref"],))
    elif kind.get("type") == "array":
        yield from leaves(kind["items"], path + (0,), seen)
    elif kind.get("type") == "object":
        yield from leaves(kind["additionalProperties"], path + ("k1",), seen)
    else:
        yield path, kind


def value_of(path, kind):
    if kind["type"] == "boolean":
        return True
    if kind["type"] == "integer":
        return 7
    if kind["type"] == "number":
        return 0.5
    return {"vmSize": MACHINE, "priority": "Regular"}.get(path[-1]) or (kind.get("enum") or ["true"])[-1]


def at(body, path):
    for key in path:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return None
    return body


SPOT = {"evictionPolicy", "billingProfile"}
REFUSED = {"computerName"}  # below


def test_nothing_written_in_a_node_config_is_dropped(server, cloud, drives):
    """Each field of the SDK's own model, alone in a node_config, is in the PUT as it was written."""
    fields = [(p, k) for top in ("properties", "plan", "tags", "placement", "extendedLocation")
              for p, k in leaves(azurevm_schema.SCHEMA["VirtualMachine"][top], (top,)) if p[-1] not in REFUSED]
    assert len(fields) > 150
    types, wants = "", {}
    for i, (path, kind) in enumerate(fields):
        value = value_of(path, kind)
        spot = bool(SPOT & set(path)) or path[-1] == "priority"
        value = "Spot" if path[-1] == "priority" else value
        types += typed(nested(path, value), ", spot: true" if spot else "", f"n{i}")
        wants[f"n{i}"] = path, value, spot
    cloud.rules.append({"match": "PUT .*/virtualMachines/", "do": "status", "status": 400, "code": "InvalidParameter", "times": 10**6})
    d = drives(types=types)
    dropped = []
    for name, (path, want, spot) in wants.items():
        n = len(cloud.log)
        d.launch(1, R, type=name, spot=spot)
        puts = [json.loads(x["raw"]) for x in cloud.log[n:] if x["method"] == "PUT"]
        got = at(puts[0], path) if puts else None
        if got != want:
            dropped.append((".".join(map(str, path)), want, got))
    assert dropped == []


@pytest.mark.parametrize("node, more, says", [
    ({"properties": {"priority": "Spot"}}, "", "not spot"),
    ({"properties": {"priority": "Regular"}}, ", spot: true", "spot: true"),
    ({"properties": {"evictionPolicy": "Delete"}}, "", "spot: true"),
    ({"properties": {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}}}, "", "Standard_D4s_v5"),
    ({"properties": {"osProfile": {"computerName": "mine"}}}, "", "not yours to say"),
    ({"location": "eastus"}, "", "location:"),
    ({"zones": ["1"]}, "", "zones:"),
])
def test_what_cannot_be_done_is_told(tmp_path, node, more, says):
    f = tmp_path / "davit.yaml"
    f.write_text("cluster: c\nproviders:\n  azurevm: {subscription: s, resource_group: r, location: westeurope, image: 'a:b:c:d', subnet: n/s}\n"
                 f"node_types:\n{typed(node, more)}")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True,
                       env=environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins")))
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


def test_a_cloud_that_serves_older_versions(cloud, drives):
    """China and Government: the refusal names those they have, and the newest of them is asked for from then on."""
    cloud.serves = ["2019-03-01", "2021-07-01", "2024-07-01", "2025-04-01-preview", "2024-11-01"]
    d = drives()
    assert d.launch(2, R, zone="1")["status"] == "OK"
    assert len(d.running(2)) == 2
    asked = [dict(x["query"]).get("api-version") for x in cloud.log if "/virtualMachines" in x["path"]]
    assert asked[0] == API and set(asked[1:]) == {"2024-11-01"}, asked
    assert "asked by that of 2024-11-01" in d.text()


def test_a_repetition_of_many_asks_once(cloud, drives):
    """What is there is found by one list, so that a launch of hundreds comes to an end."""
    d = drives()
    assert d.launch(30, R, zone="1")["status"] == "OK"
    n = len(cloud.log)
    r = d.launch(40, R, zone="1")
    assert r["status"] == "OK" and len(r["machines"]) == 40
    asked = [x["method"] for x in cloud.log[n:] if "/virtualMachines" in x["path"]]
    assert asked.count("PUT") == 11 and asked.count("GET") == 2, asked
    assert len(cloud.machines()) == 40
