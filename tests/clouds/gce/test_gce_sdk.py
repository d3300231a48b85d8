"""Every kind of request that the plug-in sends, beside that of Google's own
client to the same server: called with what ours says, it sends the same, but for
`alt` and the token."""
import json
import urllib.parse

import google.oauth2.credentials
import googleapiclient.discovery
import googleapiclient.errors
import pytest

from gke_discovery import Api
from test_gce import A, NODE_CONFIG, R

API = Api("compute.v1")
USED = {"compute.instances.insert", "compute.instances.delete", "compute.instances.aggregatedList", "compute.zoneOperations.get",
        "compute.machineTypes.get", "compute.acceleratorTypes.get", "compute.regions.get", "compute.projects.get", "compute.instances.getSerialPortOutput",
        "compute.instances.get"}


def shape(x):
    u = urllib.parse.urlsplit(x["target"])
    kind = {k.lower(): v for k, v in x["headers"].items()}.get("content-type", "").split(";")[0] if x["body"] else ""
    return {"method": x["method"], "path": urllib.parse.unquote(u.path), "type": kind,
            "query": sorted(q for q in urllib.parse.parse_qsl(u.query, keep_blank_values=True) if q != ("alt", "json")),
            "body": json.loads(x["body"]) if x["body"] else None}


def theirs(sdk, x):
    """The same call by Google's client."""
    u = urllib.parse.urlsplit(x["target"])
    m, args = API.find(x["method"], urllib.parse.unquote(u.path))
    query = dict(urllib.parse.parse_qsl(u.query, keep_blank_values=True))
    whole = {k: int(v) if m["parameters"].get(k, {}).get("type") == "integer" else v for k, v in {**args, **query}.items()}
    at = sdk
    *resources, name = m["id"].split(".")[1:]
    for r in resources:
        at = getattr(at, r)()
    if x["body"]:
        whole["body"] = json.loads(x["body"])
    try:
        getattr(at, name)(**whole).execute(num_retries=0)
    except googleapiclient.errors.HttpError:
        pass  # what the cloud says to it is not what is compared
    return m["id"]


@pytest.mark.parametrize("template", ["", "sourceInstanceTemplate: global/instanceTemplates/worker-16, "])
def test_as_googles_client_sends_it(cloud, server, drives, template):
    cloud.templates.add("global/instanceTemplates/worker-16")
    d = drives(types=NODE_CONFIG.replace("      node_config:\n", "      node_config:\n        sourceInstanceTemplate: global/instanceTemplates/worker-16\n"
                                         if template else "      node_config:\n"),
               more="head: {ray: {address: 10.1.2.3:6379}}", options=", join: 'ray start'")
    d.call("offers")
    [m] = d.launch(1, R, type="ray.worker_T4", zone=A)["machines"]
    d.launch(1, "davit-00112233445566770001", type="ray.worker_T4", zone=A, spot=True)
    cloud.page = 1
    d.list()
    assert d.call("find", ids=[m["id"]])["done"] == {m["id"]: "OK"}
    d.call("terminate", ids=[m["id"]], consoles=True)
    cloud.page = 0
    ours = [x for x in cloud.log if "/compute/" in x["target"]]
    sdk = googleapiclient.discovery.build("compute", "v1", static_discovery=True, cache_discovery=False,
                                          client_options={"api_endpoint": server.url + "/compute/v1/"},
                                          credentials=google.oauth2.credentials.Credentials(cloud.token()))
    used = set()
    for x in ours:
        n = len(cloud.log)
        used.add(theirs(sdk, x))
        [y] = cloud.log[n:]
        assert shape(x) == shape(y)
    assert used == USED
