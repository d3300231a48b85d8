"""Where a service is asked: the environment, then the profile's [services]
section, then its endpoint_url; each case is what botocore says of the same files."""
import http.server
import json
import os
import re
import subprocess
import threading
import unittest.mock

import botocore.config
import botocore.exceptions
import botocore.loaders
import botocore.session
import pytest

from eks_rig import AK, SK, environment
from lib import BUILD, ROOT, drive

CONFIG = """
cluster: drive
providers: {ec2: {region: us-east-1, image: ami-1}, eks: {region: us-east-1, cluster: c}}
node_types:
  a: {provider: ec2, machine: g4dn.xlarge, max: 2, resources: {CPU: 4}}
  b: {provider: eks, pool: p, max: 2, resources: {CPU: 4}}
"""
MODELS = botocore.loaders.create_loader()  # read once
SERVICES = "services = mine\nendpoint_url = {u}/all\n[services mine]\nec2 =\n  endpoint_url = {u}/ec2-of-file\n\n  # a note\neks =\n    endpoint_url={u}/eks-of-file\n"
CASES = {
    "all": ("endpoint_url = {u}/all\n", {}),
    "services": (SERVICES, {}),
    "another-services": ("endpoint_url = {u}/all\nservices = mine\n[services other]\nec2 =\n  endpoint_url = {u}/no\n"
                         "[services mine]\ns3 =\n  endpoint_url = {u}/s3\n", {}),
    "environment-of-all": (SERVICES, {"AWS_ENDPOINT_URL": "{u}/env"}),
    "environment-of-one": (SERVICES, {"AWS_ENDPOINT_URL": "{u}/env", "AWS_ENDPOINT_URL_EC2": "{u}/env-ec2"}),
    "ignored-but-for-nothing": (SERVICES + "[profile other]\nignore_configured_endpoint_urls = true\n", {}),
    "not-ignored-by-environment": ("ignore_configured_endpoint_urls = true\n" + SERVICES, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"}),
}


@pytest.fixture
def heard():
    """A server that keeps where it was asked, and refuses."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.path)
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()
        do_GET = do_POST

        def log_message(self, *_):
            pass
    asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield asked, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def first(tmp_path, heard, text, more, provider, url):
    """What our first request came to, as "/PREFIX"; or the answer's text."""
    (tmp_path / "config").write_text("[default]\n" + text.format(u=url))
    env = environment(tmp_path, keys=True, AWS_EC2_METADATA_DISABLED="true", **{k: v.format(u=url) for k, v in more.items()})
    heard.clear()
    d = drive.Drive(tmp_path, CONFIG, provider, env)
    r = d.call("list")
    assert SK not in d.close()
    return "/" + heard[0].split("/")[1] if heard else (r["status"], r["code"], r["text"]), env


def botocore_says(env, service):
    with unittest.mock.patch.dict(os.environ, env, clear=True):
        session = botocore.session.Session()
        session.register_component("data_loader", MODELS)
        return session.create_client(service, region_name="us-east-1").meta.endpoint_url


@pytest.mark.parametrize("case", CASES)
def test_as_botocore_reads_it(tmp_path, heard, case):
    asked, url = heard
    for service in ("ec2", "eks"):
        ours, env = first(tmp_path, asked, *CASES[case], service, url)
        assert url + str(ours) == botocore_says(env, service), (case, service)


def test_a_role_is_asked_for_there_too(tmp_path, heard):
    asked, url = heard
    text = ("role_arn = arn:aws:iam::123456789012:role/x\nsource_profile = base\nservices = mine\n[services mine]\nsts =\n"
            f"  endpoint_url = {{u}}/sts-of-file\n[profile base]\naws_access_key_id = {AK}\naws_secret_access_key = {SK}\n")
    more = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    ours, env = first(tmp_path, asked, text, more, "ec2", url)
    assert ours == "/sts-of-file" and botocore_says(env, "sts") == url + ours


def test_ignored(tmp_path, heard):
    asked, url = heard
    (tmp_path / "config").write_text("[default]\nignore_configured_endpoint_urls = true\n" + SERVICES.format(u=url))
    env = environment(tmp_path, keys=True, AWS_EC2_METADATA_DISABLED="true", https_proxy="http://127.0.0.1:9")
    assert botocore_says(env, "ec2") == "https://ec2.us-east-1.amazonaws.com"
    d = drive.Drive(tmp_path, CONFIG, "ec2", env)
    assert d.call("list")["status"] == "RETRY" and asked == []  # the proxy, that is not there, was asked for amazonaws.com
    d.close()


def test_a_section_that_is_not_there(tmp_path, heard):
    asked, url = heard
    ours, env = first(tmp_path, asked, "services = mine\n", {}, "ec2", url)
    assert ours[:2] == ("AUTH", "BadProfile") and "services = mine" in ours[2]
    with pytest.raises(botocore.exceptions.InvalidConfigError):
        botocore_says(env, "ec2")


def test_keys_do_not_go_to_another_machine_in_the_clear(tmp_path, heard):
    asked, url = heard
    ours, _ = first(tmp_path, asked, "endpoint_url = http://10.1.2.3\n", {}, "ec2", url)
    assert ours[:2] == ("AUTH", "BadEndpoint"), ours


# ---- all partitions, FIPS, both stacks: each as botocore's own rules have it

OF = {"eks": "DescribeNodegroup", "autoscaling": "DescribeAutoScalingGroups", "ec2": "DescribeInstances", "sts": "GetCallerIdentity",
      "sso": "GetRoleCredentials", "sso-oidc": "CreateToken", "service-quotas": "GetServiceQuota"}
ENUM = {"eks": "AWS_EKS", "autoscaling": "AWS_AUTOSCALING", "ec2": "AWS_EC2", "sts": "AWS_STS", "sso": "AWS_SSO", "sso-oidc": "AWS_SSO_OIDC",
        "service-quotas": "AWS_QUOTAS"}
REGIONS = [r for p in MODELS.load_data("partitions")["partitions"] for r in p["regions"] if "global" not in r]


def by_rules(session, service, region, fips, dual):
    """None: the partition has no such endpoints."""
    c = session.create_client(service, region_name=region, aws_access_key_id="a", aws_secret_access_key="b",
                              config=botocore.config.Config(use_fips_endpoint=fips, use_dualstack_endpoint=dual))
    about = {"client_region": region, "client_config": c.meta.config, "has_streaming_input": False, "auth_type": None, "unsigned_payload": None}
    return c._ruleset_resolver.construct_endpoint(c.meta.service_model.operation_model(OF[service]), {}, about).url


def test_every_partition():
    enum = re.search(r"enum aws_service \{(.*?)\}", (ROOT / "autoscaler/kit/aws/aws.h").read_text(), re.S)[1]
    numbers = {name: i for i, name in enumerate(re.findall(r"AWS_\w+", enum))}
    session = botocore.session.Session()
    session.register_component("data_loader", MODELS)
    asked, want = [], []
    some = REGIONS[::8] + [r for r in REGIONS if not re.match(r"(us|eu|ap|sa|ca|me|af|il|mx)-(?!gov|iso)\w+-\d", r)]
    assert len(some) > 14
    for region in some:
        for service in OF:
            for fips in (False, True):
                for dual in (False, True):
                    try:
                        url = by_rules(session, service, region, fips, dual)
                    except botocore.exceptions.EndpointVariantError:
                        continue
                    want.append((url, region, service, fips, dual))
                    asked.append(json.dumps({"host": numbers[ENUM[service]], "region": region, "fips": fips, "dual": dual}))
    p = subprocess.run([BUILD / "tests" / "eks_sigv4"], input="\n".join(asked) + "\n", text=True, capture_output=True, check=True)
    got = [json.loads(line)["url"] for line in p.stdout.splitlines()]
    assert len(got) == len(want) > 300
    assert [(g, *w) for g, w in zip(got, want) if g != w[0]] == []


@pytest.mark.parametrize("text, more, host", [
    ("", {"AWS_USE_FIPS_ENDPOINT": "true"}, "fips.eks.us-east-1.amazonaws.com"),
    ("use_fips_endpoint = true\n", {}, "fips.eks.us-east-1.amazonaws.com"),
    ("use_fips_endpoint = true\n", {"AWS_USE_FIPS_ENDPOINT": "false"}, "eks.us-east-1.amazonaws.com"),
    ("use_dualstack_endpoint = true\n", {}, "eks.us-east-1.api.aws"),
    ("", {"AWS_USE_DUALSTACK_ENDPOINT": "true", "AWS_USE_FIPS_ENDPOINT": "true"}, "eks-fips.us-east-1.api.aws")])
def test_who_wants_them(tmp_path, text, more, host):
    """A proxy that is ours hears which host is asked for."""
    heard = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self):
            heard.append(self.path)
            self.send_error(403)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "config").write_text("[default]\n" + text)
    env = environment(tmp_path, keys=True, AWS_EC2_METADATA_DISABLED="true", https_proxy=f"http://127.0.0.1:{server.server_port}", **more)
    d = drive.Drive(tmp_path, CONFIG, "eks", env)
    d.call("list")
    d.close()
    server.shutdown()
    server.server_close()
    assert heard[0] == host + ":443"
    assert botocore_says(env, "eks").removeprefix("https://") == host
