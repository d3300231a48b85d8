"""Our requests beside those of the official SDK (boto3 1.44.5, recorded).

The same names are put in place of ours; then method, path, query, content type
and form are equal, as sets.
"""
import json

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
        d.ask("offers")
        cloud.late(pool=cloud.names["gpu"], seconds=3600)
        d.launch("r3", 1)
        d.list()
        ids = [m["id"] for m in d.list() if m["request"] == "r1"]
        d.terminate(ids[0])
        d.terminate(*ids[1:3])
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
        # a filter of our own, in the SDK's form
        want = {k for k, _ in shape(golden("ec2_describe_instances_filter")[0], {})["form"]}
        ours = [x for x in cloud.log() if x["action"] == "DescribeInstances"]
        assert all(want <= {k for k, _ in x["form"]} for x in ours) and two


def test_instance_types(cloud, tmp_path):
    cloud.fresh(gpu={"types": ["g5.xlarge", "p4d.24xlarge"]})
    with Drive(tmp_path, cloud, "  gpu: {provider: eks, pool: %s, resources: {CPU: 4, GPU: 1}, max: 60}" % cloud.names["gpu"]) as d:
        assert d.ask("offers")["status"] == "OK"
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
