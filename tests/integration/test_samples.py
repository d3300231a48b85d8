"""Each sample of KubeRay and Kueue is read as docs/config.md has it: used, or refused with the kinds that are in it.

SAMPLES=write makes expect.json anew: read what it changes.
"""
import json
import os
import pathlib
import re
import subprocess

import pytest

from lib import DAVIT, ROOT

SAMPLES = ROOT / "tests" / "cases" / "samples"
EXPECT = SAMPLES / "expect.json"
FILES = sorted(str(p.relative_to(SAMPLES)) for p in SAMPLES.glob("*/**/*.y*ml"))
# of where the file is read, not of the file
USUAL = ("provider k8s: there is no Kubernetes here", "this file does not say where the Ray head is")


def said(path):
    """What `davit validate` makes of a file: node types, or kinds, and warnings that are about the file."""
    p = subprocess.run([DAVIT, "validate", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    lines = [line.replace(f"{path}:", "").strip() for line in p.stdout.splitlines()]
    got = {"warns": [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ") and not any(u in line for u in USUAL)]}
    if p.returncode == 0:
        got["node_types"] = int(re.search(r"valid \(KubeRay RayCluster\), (\d+) node type", lines[-1])[1])
    else:
        got["refused"] = re.search(r"no Ray cluster in this manifest, only (.*); allowed", lines[-1])[1]
    return got


@pytest.fixture(scope="module")
def expected():
    if os.environ.get("SAMPLES") == "write":
        EXPECT.write_text(json.dumps({f: said(SAMPLES / f) for f in FILES}, indent=1) + "\n")
    return json.loads(EXPECT.read_text())


@pytest.mark.parametrize("name", FILES)
def test_a_sample(expected, name):
    assert said(SAMPLES / name) == expected[name]


def test_the_table_of_the_docs_has_their_numbers(expected):
    text = (ROOT / "docs" / "config.md").read_text()
    used = {f: e for f, e in expected.items() if "node_types" in e}
    of = {k: sum(f.startswith(k) for f in used) for k in ("kuberay", "kueue")}
    none = sum(e["node_types"] == 0 for f, e in used.items() if f.startswith("kuberay"))
    assert re.search(rf"^\| KubeRay: RayCluster, .* \| {of['kuberay']} \| used", text, re.M)
    assert re.search(rf"^\| of these without a worker group .* \| {none} \|", text, re.M)
    assert re.search(rf"^\| KubeRay: Ingress .* \| {sum(f.startswith('kuberay') for f in FILES) - of['kuberay']} \| refused", text, re.M)
    assert re.search(rf"^\| Kueue: RayCluster, .* \| {of['kueue']} \| used", text, re.M)
    assert not any("did you mean" in w for e in expected.values() for w in e["warns"]), "a key of theirs is taken for a mistake"


def keys_of(schema, of=()):
    """Keys that a JSON schema lists, by the path of their mapping; "*" is any name."""
    yield of, sorted(schema.get("properties", {}))
    for key, inner in [*schema.get("properties", {}).items(), *(("*", s) for s in schema.get("patternProperties", {}).values())]:
        if of + (key,) in {("provider",), ("auth",), ("docker",), ("available_node_types",), ("available_node_types", "*"), ("available_node_types", "*", "docker")}:
            yield from keys_of(inner, of + (key,))


def test_each_key_of_rays_schema_is_known(tmp_path):
    """Of the Ray that the tests have; one that it does not list is told with its line."""
    import ray  # pylint: disable=import-outside-toplevel
    schema = json.loads(pathlib.Path(ray.__file__).with_name("autoscaler").joinpath("ray-schema.json").read_text())
    keys = dict(keys_of(schema))
    assert all(k in keys["provider",] for k in ("region", "project_id")) and len(keys["available_node_types", "*"]) > 5
    path, of_type, found = tmp_path / "cluster.yaml", dict.fromkeys(keys["available_node_types", "*"]), {}
    of_type.update(resources={"CPU": 1}, node_config={"InstanceType": "m5.large"}, docker=dict.fromkeys(keys["available_node_types", "*", "docker"]))
    for more in ({}, {"keyOfTomorrow": None}):
        file = {**dict.fromkeys(keys[()]), **more, "cluster_name": "c", "max_workers": 1, "head_node_type": "h",
                "auth": {**dict.fromkeys(keys["auth",]), **more}, "docker": {**dict.fromkeys(keys["docker",]), **more},
                "provider": {**dict.fromkeys(keys["provider",]), **more, "type": "aws", "region": "r"},
                "available_node_types": {"h": {"resources": {}, "node_config": {}}, "w": {**of_type, **more}}}
        path.write_text(json.dumps(file, indent=1))
        p = subprocess.run([DAVIT, "validate", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
        found[bool(more)] = re.findall(r":(\d+):\d+: (unknown key .*)", p.stdout)
    assert not found[False], found
    lines = path.read_text().splitlines()
    assert len(found[True]) == 5 and all("keyOfTomorrow" in lines[int(n) - 1] and "it is not used" in text for n, text in found[True]), found


def test_each_option_of_ray_start_is_known(tmp_path):
    """rayStartParams are its options: none is a mistake, in the Ray that the tests have."""
    from ray.scripts.scripts import start  # pylint: disable=import-outside-toplevel
    names = sorted({o[2:] for p in start.params for o in p.opts if o.startswith("--")})
    group = {"groupName": "g", "minReplicas": 0, "maxReplicas": 1, "rayStartParams": {n: "1" for n in names if n not in ("resources", "labels")},
             "template": {"spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}}
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c"}, "spec": {
        "headGroupSpec": {"rayStartParams": {}, "template": group["template"]}, "workerGroupSpecs": [group]}}))
    p = subprocess.run([DAVIT, "validate", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    assert len(names) > 40 and p.returncode == 0, p.stdout
    assert "unknown key" not in p.stdout, p.stdout
