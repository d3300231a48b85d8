"""Our requests beside those of the official SDK (boto3 1.44.5, recorded).

The same names are put in place of ours; then method, path, query, content type
and form are equal, as sets.
"""
import json

import re

import botocore.session
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator

from eks_operations import AGENTS, OPERATIONS
from lib import ROOT
from eks_rig import HERE, Drive, environment


def golden(name):
    g = json.loads((HERE / "golden" / f"{name}.json").read_text())
    return [x["request"] for x in g["exchanges"]]


def shape(r, names):
    def put(v):
        for ours, theirs in names.items():
            v = v.replace(ours, theirs)
        return v
    form = r.get("form") if "form" in r else (r["body"] or {}).get("form", [])
    kind = r["type"] if "type" in r else r["headers"].get("content-type")
    return {"method": r["method"], "path": put(r["path"]), "query": sorted(map(tuple, r["query"])), "type": kind,
            "form": sorted((k, put(v)) for k, v in form)}


def same(cloud, name, action, names):
    want = shape(golden(name)[0], {})
    got = [shape(x, names) for x in cloud.log() if x["action"] == action]
    assert want in got, (name, want, got[-3:])


def test_requests(cloud, tmp_path):
    cloud.fresh(gpu={"max": 20}, inst={"max": 20})
    types = ("  gpu: {provider: eks, pool: %(gpu)s, resources: {CPU: 4, GPU: 1}, max: 60}\n"
             "  inst: {provider: eks, pool: %(inst)s, resources: {CPU: 4, GPU: 1}, max: 60, options: {launch: instances}}" % cloud.names)
    with Drive(tmp_path, cloud, types) as d:
        group, inst = cloud.at("gpu")["group"], cloud.at("inst")["group"]
        names = {group: "eks-gpu-asg", inst: "eks-gpu-asg", cloud.cluster + "/": "c1/", cloud.names["gpu"]: "gpu"}
        d.launch("r1", 4)
        d.launch("r2", 2, type="inst", zone="us-east-1a")
        d.list()
        d.call("offers")
        cloud.late(pool=cloud.names["gpu"], seconds=3600)
        d.launch("r3", 1)
        d.list()
        ids = [m["id"] for m in d.list() if m["request"] == "r1"]
        d.end(ids[0])
        d.end(*ids[1:3])
        same(cloud, "asg_set_desired_capacity", "SetDesiredCapacity", names)
        same(cloud, "asg_describe_scaling_activities", "DescribeScalingActivities", names)
        same(cloud, "eks_describe_nodegroup", "DescribeNodegroup", names)
        # one group at a time, as the SDK asked
        same(cloud, "asg_describe_auto_scaling_groups", "DescribeAutoScalingGroups", names)
        two = sorted(ids[1:3])
        same(cloud, "asg_terminate_instance_decrement", "TerminateInstanceInAutoScalingGroup",
             {**names, ids[0]: "i-e6ca904653900a7bd"})
        same(cloud, "asg_terminate_instances_multi", "TerminateInstanceInAutoScalingGroup",
             {**names, ids[1]: "i-1", ids[2]: "i-2"})
        token = [dict(x["form"])["ClientToken"] for x in cloud.log() if x["action"] == "LaunchInstances"][0]
        same(cloud, "asg_launch_instances", "LaunchInstances", {**names, token: "tok-9"})
        # what has no recording, too, is as botocore would have sent it
        judged = {judged_by_botocore(x) for x in cloud.log() if x["form"]}
        assert judged >= {"SetDesiredCapacity", "CreateOrUpdateTags", "CreateTags", "SetInstanceProtection", "LaunchInstances",
                          "TerminateInstanceInAutoScalingGroup", "DescribeInstances"}, judged
        # a filter of our own, in the SDK's form
        want = {k for k, _ in shape(golden("ec2_describe_instances_filter")[0], {})["form"]}
        ours = [x for x in cloud.log() if x["action"] == "DescribeInstances"]
        assert all(want <= {k for k, _ in x["form"]} for x in ours) and two


VERSIONS = {"autoscaling": "2011-01-01", "ec2": "2016-11-15", "sts": "2011-06-15"}
TYPES = {"integer": int, "long": int, "boolean": lambda v: {"true": True, "false": False}[v], "timestamp": str, "string": str}
SESSION = botocore.session.Session()


def judged_by_botocore(x):
    """Reads our form by the service's model, and has botocore write it again."""
    params_of(x)
    return x["action"]


def params_of(x):
    """What a caller of botocore would have given for our form; what it does not serialise to the same is a failure."""
    model = SESSION.get_service_model(x["service"])
    op = model.operation_model(x["action"])
    form, ec2 = dict(x["form"]), x["service"] == "ec2"
    assert len(form) == len(x["form"]), "a parameter twice"
    head = {k: form.pop(k) for k in ("Action", "Version")}
    assert head == {"Action": x["action"], "Version": VERSIONS[x["service"]]}
    left = set(form)

    def named(name, member):
        own = member.serialization.get("queryName") if ec2 else None
        name = own or member.serialization.get("name", name)
        return name[:1].upper() + name[1:] if ec2 else name

    def read(shape, prefix):
        if shape.type_name == "structure":
            got = {n: read(m, f"{prefix}.{named(n, m)}".lstrip(".")) for n, m in shape.members.items()}
            return {k: v for k, v in got.items() if v is not None} or None
        if shape.type_name == "list":
            at = prefix if ec2 or shape.serialization.get("flattened") else prefix + ".member"
            got, i = [], 1
            while any(k == f"{at}.{i}" or k.startswith(f"{at}.{i}.") for k in form):
                got.append(read(shape.member, f"{at}.{i}"))
                i += 1
            return got or None
        if prefix in form:
            left.discard(prefix)
            return TYPES[shape.type_name](form[prefix])
        return None
    params = read(op.input_shape, "")
    assert not left, f"{x['action']}: the model knows no {sorted(left)}"
    wrong = ParamValidator().validate(params, op.input_shape)
    assert not wrong.has_errors(), wrong.generate_report()
    again = create_serializer(model.metadata["protocol"]).serialize_to_request(params, op)["body"]
    assert {k: str(v) for k, v in again.items()} == {**head, **form}, x["action"]
    return params


def test_requests_without_a_recording(cloud, tmp_path):
    """As botocore sends them: what the other test does not come by."""
    cloud.fresh(gpu={"max": 40, "spot": True})
    (tmp_path / "credentials").write_text("[base]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = "
                                          "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n")
    (tmp_path / "config").write_text("[profile gpu]\nrole_arn = arn:aws:iam::123456789012:role/scaler\nsource_profile = base\n")
    types = "  gpu: {provider: eks, pool: %s, machine: g5.xlarge, max: 60, spot: true}" % cloud.names["gpu"]
    with Drive(tmp_path, cloud, types, ", profile: gpu", env=environment(tmp_path, False)) as d:
        d.call("offers")
        for i in range(14):  # old requests are pruned
            d.launch(f"r{i}", 1, spot=True)
            d.end(*[m["id"] for m in d.list()])
        judged = {judged_by_botocore(x) for x in cloud.log() if x["form"]}
        assert judged >= {"AssumeRole", "DescribeSpotPriceHistory", "DeleteTags", "CreateOrUpdateTags"}, judged


def test_the_table_is_whole():
    """Every operation in the sources is in it, every recording in a test here."""
    folders = ("providers/eks", "providers/ec2", "autoscaler/kit/aws")
    source = "".join(p.read_text() for f in folders for p in sorted((ROOT / f).glob("*.c")))
    assert set(re.findall(r'"ServiceQuotasV20190624\.(\w+)"', source)) == {"GetServiceQuota"}
    assert set(re.findall(r'form_begin\(&?\w+,\s*\w+,\s*"(\w+)"', source)) | {"DescribeNodegroup", "GetServiceQuota"} == set(OPERATIONS)
    here = (HERE / "test_eks_golden.py").read_text()
    tried = set(re.findall(r'same\(cloud, "(\w+)"', here)) | set(re.findall(r'golden\("(\w+)"\)\[', here))
    recordings = {n for names in OPERATIONS.values() for n in names} | set(AGENTS)
    assert recordings == {p.stem for p in (HERE / "golden").glob("*.json")} == tried


def test_a_node_group_that_is_not_there(cloud, tmp_path):
    cloud.fresh(gpu={})
    with Drive(tmp_path, cloud, "  gpu: {provider: eks, pool: nope, resources: {CPU: 4, GPU: 1}, max: 60}") as d:
        assert d.list() == []
        same(cloud, "eks_describe_nodegroup_notfound", "DescribeNodegroup", {cloud.cluster + "/": "c1/"})


def test_instance_types(cloud, tmp_path):
    cloud.fresh(gpu={"types": ["g5.xlarge", "p4d.24xlarge"]})
    with Drive(tmp_path, cloud, "  gpu: {provider: eks, pool: %s, resources: {CPU: 4, GPU: 1}, max: 60}" % cloud.names["gpu"]) as d:
        assert d.call("offers")["status"] == "OK"
        same(cloud, "ec2_describe_instance_types", "DescribeInstanceTypes", {})


def test_web_identity(cloud, tmp_path):
    cloud.fresh(gpu={})
    want = golden("sts_assume_role_with_web_identity")[0]
    form = dict(want["body"]["form"])
    (tmp_path / "token").write_text(form["WebIdentityToken"])
    env = environment(tmp_path, False, AWS_ROLE_ARN=form["RoleArn"], AWS_WEB_IDENTITY_TOKEN_FILE=str(tmp_path / "token"),
                      AWS_ROLE_SESSION_NAME=form["RoleSessionName"])
    with Drive(tmp_path, cloud, "  gpu: {provider: eks, pool: %s, resources: {CPU: 4, GPU: 1}, max: 60}" % cloud.names["gpu"], env=env) as d:
        d.list()
        same(cloud, "sts_assume_role_with_web_identity", "AssumeRoleWithWebIdentity", {})


def agent_same(cloud, name):
    want = [(r["method"], r["path"], r["headers"]) for r in golden(name)]
    got = cloud.agents()
    assert len(got) == len(want)
    for (m, p, h), (wm, wp, wh) in zip(got, want):
        assert (m, p) == (wm, wp) and {k: h.get(k) for k in wh} == wh, (p, h, wh)


def test_agents(cloud, tmp_path):
    cloud.fresh(gpu={})
    types = "  gpu: {provider: eks, pool: %s, resources: {CPU: 4, GPU: 1}, max: 60}" % cloud.names["gpu"]
    with Drive(tmp_path, cloud, types, env=environment(tmp_path, False, AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url)) as d:
        d.list()
        agent_same(cloud, "auth_imdsv2")
    cloud.clear()
    env = environment(tmp_path, False, AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials")
    with Drive(tmp_path, cloud, types, env=env) as d:
        d.list()
        agent_same(cloud, "auth_pod_identity_container_credentials")
