"""configs/kubernetes: what stands there is taken by a real API server, field by field, and says what it should."""
import functools
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.request

import pytest
import yaml

from lib import DAVIT, ROOT, free_port
from lib.daemon import Daemon
from lib.kube import path_of, until

FOLDER = ROOT / "configs" / "kubernetes"
CHART = FOLDER / "chart" / "davit"
KINDS = {"Namespace": None, "ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps", "Service": "services",
         "Deployment": "deployments", "PodDisruptionBudget": "poddisruptionbudgets", "Role": "roles",
         "RoleBinding": "rolebindings", "ClusterRole": None, "ClusterRoleBinding": None, "RayCluster": "rayclusters", "NetworkPolicy": "networkpolicies",
         "ValidatingAdmissionPolicy": None, "ValidatingAdmissionPolicyBinding": None}
PLURALS = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies"}


@functools.cache
def helm():
    return subprocess.run([ROOT / "tests/k8s/helm/build.sh"], capture_output=True, text=True, check=True).stdout.strip()


def values_of(**change):
    """The chart's own with these, and the one that a user must give."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    values["image"]["repository"] = "registry.example/davit"
    for key, value in change.items():
        values[key] = dict(values[key], **value) if isinstance(value, dict) and isinstance(values[key], dict) else value
    return values


def render(values, *more):
    """What helm makes of it; nothing of this machine's own settings."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "values.yaml").write_text(yaml.safe_dump(values))
        return subprocess.run([helm(), "template", "davit", CHART, "--namespace", "davit", "--values", f"{folder}/values.yaml", *more],
                              text=True, capture_output=True, check=False, env={"HOME": folder, "PATH": os.environ["PATH"]})


def rendered(**change):
    out = render(values_of(**change))
    assert out.returncode == 0, out.stderr
    return [o for o in yaml.safe_load_all(out.stdout) if o]


def taken(plane, obj):
    """Created as a trial; an unknown or double field is an error."""
    group = "/api/v1" if obj["apiVersion"] == "v1" else f"/apis/{obj['apiVersion']}"
    plural = KINDS[obj["kind"]]
    path = path_of(group, obj["metadata"].get("namespace", "default"), plural) if plural else \
        f"{group}/{PLURALS.get(obj['kind'], obj['kind'].lower() + 's')}"
    status, reply = plane.api("POST", path + "?dryRun=All&fieldValidation=Strict", obj)
    assert status in (201, 409), (obj["kind"], obj["metadata"]["name"], reply)


@pytest.fixture(scope="module")
def space(shared):
    shared.api("POST", "/api/v1/namespaces", {"metadata": {"name": "davit"}})
    return shared


@pytest.mark.parametrize("name", ["davit.yaml", "rbac.yaml", "raycluster.yaml", "node-identity.yaml"])
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
    assert rendered(priorityClassName="x", serviceMonitor={"enabled": True}, podDisruptionBudget=None, rbac={"create": False})


def test_helm_finds_nothing_to_complain_of():
    out = subprocess.run([helm(), "lint", "--strict", CHART], capture_output=True, text=True, check=False)
    assert out.returncode == 0 and "[WARNING]" not in out.stdout, out.stdout + out.stderr


def test_helm_holds_values_against_the_schema():
    out = render({**values_of(), "replicas": 2})
    assert out.returncode != 0 and "'replicas' not allowed" in out.stderr, out.stderr


def test_a_missing_image_is_told():
    out = render(values_of(image={"repository": ""}))
    assert out.returncode != 0 and "image.repository is needed" in out.stderr


def test_values_have_a_schema():
    import jsonschema
    schema = json.loads((CHART / "values.schema.json").read_text())
    judge = jsonschema.Draft7Validator(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    own = yaml.safe_load((CHART / "values.yaml").read_text())
    assert not list(judge.iter_errors(own))
    assert not list(judge.iter_errors(values_of(resources={"limits": {"cpu": 1, "nvidia.com/gpu": "1"}}, tolerations=[{"operator": "Exists"}],
                                                extraEnvSecrets={"KEY": {"name": "cloud", "key": "key"}}, podDisruptionBudget=None)))
    assert set(schema["properties"]) - {"global"} == set(own)
    for wrong in ({"replicas": 2}, {"replicaCount": "2"}, {"image": {"digest": "latest"}}, {"image": {"repo": "x"}}, {"config": {"cluster": ""}},
                  {"config": {"node_types": []}}, {"resources": {"limit": {}}}, {"serviceMonitor": {"interval": 30}}, {"extraArgs": "--dry-run"}):
        found = [e for e in judge.iter_errors(values_of(**wrong))] if not set(wrong) - set(own) else list(judge.iter_errors({**own, **wrong}))
        assert found, wrong


def test_nothing_asks_for_a_priority_that_a_cloud_refuses():
    chart = next(o for o in rendered() if o["kind"] == "Deployment")
    plain = next(o for o in yaml.safe_load_all((FOLDER / "davit.yaml").read_text()) if o["kind"] == "Deployment")
    for d in (chart, plain):
        pod = d["spec"]["template"]["spec"]
        assert "priorityClassName" not in pod
        assert {"livenessProbe", "readinessProbe"} <= set(pod["containers"][0])
        assert pod["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/healthz", "/readyz of a standby is 503: a rollout would never end"


def test_the_charts_defaults_start(space, tmp_path):
    """As they are, but for the ports and how the API server is reached from here."""
    config = yaml.safe_load(next(o for o in rendered() if o["kind"] == "ConfigMap")["data"]["davit.yaml"])
    metrics = free_port()
    config["head"]["kubernetes"]["kubeconfig"] = str(space.kubeconfig)
    config["api"] = {"listen": "127.0.0.1:{port}", "metrics": f"127.0.0.1:{metrics}"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(config).replace("{port}", "8790"))
    out = subprocess.run([DAVIT, "validate", tmp_path / "own.yaml"], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    with Daemon(tmp_path, yaml.safe_dump(config), env={"POD_NAMESPACE": "davit"}) as d:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/healthz", timeout=10) as r:
            assert r.status == 200
        assert d.status()["cluster"] == config["cluster"]


GRAFANA = {"kind": "ServiceAccount", "name": "grafana", "namespace": "monitoring"}
TEAM = {"kind": "Group", "name": "system:serviceaccounts:team-a", "apiGroup": "rbac.authorization.k8s.io"}


def callers(**more):
    return {"kubernetes": {"enabled": True, "readers": [GRAFANA], "owners": {"team-a": [TEAM]}, **more}}


def test_callers_of_the_chart_are_known_by_rbac(space, tmp_path):
    """The rendered Roles and settings, on the real API server: who is bound may, who is not may not."""
    objects = rendered(api=callers(), config={"cluster": "callers"})
    rbac = [o for o in objects if o["kind"] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")]
    for namespace, name in (("monitoring", "grafana"), ("team-a", "trainer"), ("team-b", "trainer")):
        space.api("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        rbac.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
    space.apply(*rbac)
    config = yaml.safe_load(next(o for o in objects if o["kind"] == "ConfigMap")["data"]["davit.yaml"])
    assert config["api"]["listen"] == "0.0.0.0:8790" and config["api"]["kubernetes"] == {"audience": "davit", "cache": "2s", "namespace": "davit"}
    socket = tmp_path / "davit.sock"
    config["api"].update(listen="127.0.0.1:{port}", metrics=f"127.0.0.1:{free_port()}", socket=str(socket))
    folder, env = space.mount_for("davit", "davit")
    try:
        with Daemon(tmp_path, yaml.safe_dump(config), start=False,
                    env={**env, "DAVIT_SERVICEACCOUNT_DIR": str(folder), "KUBECONFIG": None, "POD_NAMESPACE": "davit"}) as d:
            d.start(wait="/healthz")

            def code(namespace, name, method, path, body=None):
                spec = {"spec": {"audiences": ["davit"], "expirationSeconds": 3600}}
                token = space.client.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", spec)["status"]["token"]
                try:
                    return d.exchange(method, path, body, {"Authorization": f"Bearer {token}"}).code
                except OSError:
                    return 0  # it becomes the leader

            until(lambda: code("monitoring", "grafana", "GET", "/v1/status") == 200, 60, d.text)
            want = {"num_cpus": 1, "owner": "team-a"}
            assert code("team-a", "trainer", "POST", "/v1/request_resources", want) in (200, 202)
            assert code("monitoring", "grafana", "POST", "/v1/request_resources", want) == 403
            assert code("team-b", "trainer", "POST", "/v1/request_resources", want) == 403
            assert code("team-a", "trainer", "GET", "/v1/nodes") == 403
            assert code("monitoring", "grafana", "POST", "/v1/reload") == 403
            out = subprocess.run([DAVIT, "status"], env={**os.environ, "DAVIT_URL": f"unix:{socket}"}, capture_output=True, text=True)
            assert out.returncode == 0 and "callers" in out.stdout, "as `kubectl exec ... -- davit status` does: " + out.stderr
    finally:
        for o in rbac:
            space.api("DELETE", space.path_of(o))


def test_callers_reach_the_chart(space):
    objects = rendered(api=callers(tlsSecret="davit-tls", admins=[{"kind": "User", "name": "ann"}]))
    for o in objects:
        taken(space, o)
    of = {o["kind"]: o for o in objects}
    assert {"name": "api", "port": 8790, "targetPort": "api"} in of["Service"]["spec"]["ports"]
    assert {"ports": [{"port": 8790, "protocol": "TCP"}]} in of["NetworkPolicy"]["spec"]["ingress"]
    pod = of["Deployment"]["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert {"name": "api", "containerPort": 8790} in container["ports"]
    assert {"name": "DAVIT_URL", "value": "unix:/tmp/davit.sock"} in container["env"]
    assert {"name": "tls", "secret": {"secretName": "davit-tls", "defaultMode": 0o440}} in pod["volumes"]
    config = yaml.safe_load(of["ConfigMap"]["data"]["davit.yaml"])["api"]
    assert config["tls"] == {"cert": "/etc/davit-tls/tls.crt", "key": "/etc/davit-tls/tls.key"} and config["metrics"] == "0.0.0.0:9790"
    assert "davit.davit.svc" in config["hosts"]
    granted = [r for o in objects if o["kind"] == "Role" for r in o["rules"] if r["apiGroups"] == ["davit.io"]]
    assert granted == [{"apiGroups": ["davit.io"], "resources": ["status"], "verbs": ["get"]},
                       {"apiGroups": ["davit.io"], "resources": ["control"], "verbs": ["update"]},
                       {"apiGroups": ["davit.io"], "resources": ["requests"], "resourceNames": ["team-a"], "verbs": ["create"]}]
    for wrong in ({"enabled": "yes"}, {"owners": {"Team A": []}}, {"readers": ["ann"]}, {"cache": 30}):
        out = render(values_of(api=callers(**wrong)))
        # of a key that does not fit helm tells the key, and not always where it stands
        assert out.returncode != 0 and any(w in out.stderr for w in ("kubernetes", "Team A")), (wrong, out.stderr)


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
