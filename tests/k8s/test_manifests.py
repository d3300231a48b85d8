"""configs/kubernetes: what stands there is taken by a real API server, field by field, and says what it should."""
import functools
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

from lib.kube import path_of
from lib import ROOT

FOLDER = ROOT / "configs" / "kubernetes"
CHART = FOLDER / "chart" / "davit"
KINDS = {"Namespace": None, "ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps", "Service": "services",
         "Deployment": "deployments", "PodDisruptionBudget": "poddisruptionbudgets", "Role": "roles",
         "RoleBinding": "rolebindings", "ClusterRole": None, "ClusterRoleBinding": None, "RayCluster": "rayclusters", "NetworkPolicy": "networkpolicies"}


def go():
    caches = [pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "davit" / "go-venv" / "bin"]
    for found in (shutil.which("go"), "/usr/local/go/bin/go", *(c / "go" for c in caches)):
        if found and pathlib.Path(found).exists():
            return str(found)
    raise AssertionError("no go, though tests/setup.sh k8s needs it too")


@functools.cache
def renderer():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "davit"
    env = dict(os.environ, GOCACHE=str(cache / "go-build"), GO111MODULE="off", GOFLAGS="", CGO_ENABLED="0")
    out = ROOT / "build" / "release" / "tests" / "render"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([go(), "build", "-o", out, ROOT / "tests" / "k8s" / "chart" / "render.go"], env=env, check=True)
    return out


def rendered(**change):
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for key, value in change.items():
        values[key] = dict(values[key], **value) if isinstance(value, dict) and isinstance(values[key], dict) else value
    meta = yaml.safe_load((CHART / "Chart.yaml").read_text())
    given = {"chart": str(CHART), "values": values,
             "meta": {"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]}}
    out = subprocess.run([renderer()], input=json.dumps(given), text=True, capture_output=True, check=False)
    assert out.returncode == 0, out.stderr
    files = json.loads(out.stdout)
    assert "doctor" in files.pop("NOTES.txt")
    return [o for text in files.values() for o in yaml.safe_load_all(text) if o]


def taken(plane, obj):
    """Created as a trial; an unknown or double field is an error."""
    group = "/api/v1" if obj["apiVersion"] == "v1" else f"/apis/{obj['apiVersion']}"
    plural = KINDS[obj["kind"]]
    path = path_of(group, obj["metadata"].get("namespace", "default"), plural) if plural else \
        f"{group}/{obj['kind'].lower()}s"
    status, reply = plane.api("POST", path + "?dryRun=All&fieldValidation=Strict", obj)
    assert status in (201, 409), (obj["kind"], obj["metadata"]["name"], reply)


@pytest.fixture(scope="module")
def space(shared):
    shared.api("POST", "/api/v1/namespaces", {"metadata": {"name": "davit"}})
    return shared


@pytest.mark.parametrize("name", ["davit.yaml", "rbac.yaml", "raycluster.yaml"])
def test_plain_manifests(space, name):
    objects = list(yaml.safe_load_all((FOLDER / name).read_text()))
    for o in objects:
        taken(space, o)


def test_chart(space):
    objects = rendered()
    assert {o["kind"] for o in objects} == {"ServiceAccount", "ConfigMap", "Service", "Deployment", "PodDisruptionBudget",
                                            "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy"}
    for o in objects:
        taken(space, o)


def test_chart_with_everything_set(space):
    objects = rendered(
        extraArgs=["--dry-run"], extraEnv=[{"name": "A", "value": "b"}],
        extraEnvSecrets={"KEY": {"name": "cloud", "key": "key"}}, imagePullSecrets=[{"name": "x"}],
        nodeSelector={"pool": "system"}, tolerations=[{"operator": "Exists"}], podLabels={"team": "ml"},
        podAnnotations={"a": "b"}, extraVolumes=[{"name": "v", "emptyDir": {}}],
        extraVolumeMounts=[{"name": "v", "mountPath": "/v"}], serviceAccount={"annotations": {"x/y": "z"}, "name": "other"})
    for o in objects:
        taken(space, o)
    pod = next(o for o in objects if o["kind"] == "Deployment")["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert container["args"][-1] == "--dry-run" and pod["serviceAccountName"] == "other"
    assert container["env"][0] == {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    assert rendered(serviceMonitor={"enabled": True}, podDisruptionBudget=None, rbac={"create": False})


def rules(objects, kind):
    return [sorted((g, r, v) for rule in o["rules"] for g in rule["apiGroups"] for r in rule["resources"]
                   for v in rule["verbs"]) for o in objects if o["kind"] == kind]


def test_chart_and_plain_manifests_grant_the_same():
    plain = list(yaml.safe_load_all((FOLDER / "rbac.yaml").read_text()))
    chart = rendered()
    for kind in ("ClusterRole", "Role"):
        assert rules(plain, kind) == rules(chart, kind)


def test_containers_are_locked_up_and_see_no_gpu():
    chart = next(o for o in rendered() if o["kind"] == "Deployment")
    plain = next(o for o in yaml.safe_load_all((FOLDER / "davit.yaml").read_text()) if o["kind"] == "Deployment")
    for d in (chart, plain):
        pod = d["spec"]["template"]["spec"]
        container, = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                "capabilities": {"drop": ["ALL"]}}
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    cluster = yaml.safe_load((FOLDER / "raycluster.yaml").read_text())["spec"]
    assert cluster["autoscalerOptions"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for g in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]:
        assert g["template"]["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for c in [g["template"]["spec"]["containers"][0] for g in groups] + [container]:
        gpu = "nvidia.com/gpu" in c["resources"].get("limits", {})
        assert gpu or {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in c["env"], c["name"]


def test_rights_are_by_name_where_there_is_one():
    for role in (o for o in [*yaml.safe_load_all((FOLDER / "rbac.yaml").read_text()), *rendered(config={"cluster": "other"})]
                 if o["kind"] == "Role"):
        for rule in role["rules"]:
            assert rule["verbs"] == ["create"] or rule["resourceNames"][0].startswith("davit-"), rule


def test_an_image_by_its_digest():
    d = next(o for o in rendered(image={"digest": "sha256:" + "0" * 64}) if o["kind"] == "Deployment")
    assert d["spec"]["template"]["spec"]["containers"][0]["image"].endswith("/davit@sha256:" + "0" * 64)


def test_davit_reads_what_stands_there(tmp_path):
    davit = ROOT / "build" / "release" / "davit"
    config = next(o for o in yaml.safe_load_all((FOLDER / "davit.yaml").read_text()) if o["kind"] == "ConfigMap")
    (tmp_path / "davit.yaml").write_text(config["data"]["davit.yaml"])
    for path in (tmp_path / "davit.yaml", FOLDER / "raycluster.yaml"):
        out = subprocess.run([davit, "validate", path], capture_output=True, text=True)
        assert out.returncode == 0, out.stderr + out.stdout
