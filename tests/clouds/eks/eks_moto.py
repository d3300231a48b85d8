"""moto, an AWS server of other people's making, in a thread; made quicker.

It answers from the same code and state as ever.  What is different: a resource's
tags are looked up by its id and not searched for in all there are (a list of
1,000 instances took ten seconds), the names of its own modules and botocore's
data files are read once and not for each request, and no images are loaded.
"""
import functools
import http.client
import logging
import os

for _k in [k for k in os.environ if k.startswith("AWS_")]:
    del os.environ[_k]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

import botocore.loaders  # noqa: E402
from moto import backends  # noqa: E402
from moto.ec2.models.core import TaggedEC2Resource  # noqa: E402
from moto.ec2.models.tags import TagBackend  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

logging.getLogger("werkzeug").setLevel(logging.ERROR)


def tags_of(resource):
    """describe_tags() of moto's own, given no more than this resource's."""
    one = TagBackend()
    if resource.id:
        one.tags[resource.id] = resource.ec2_backend.tags.get(resource.id, {})
    return one.describe_tags()


def quicken():
    TaggedEC2Resource.get_tags = tags_of
    names = tuple(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: names
    load = botocore.loaders.JSONFileLoader.load_file
    botocore.loaders.JSONFileLoader.load_file = lambda self, path: kept(load, path)


@functools.lru_cache(maxsize=None)
def kept(load, path):
    return load(botocore.loaders.JSONFileLoader(), path)


class Moto:
    def __init__(self):
        quicken()
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]

    def forward(self, method, path, headers, body):
        """(status, body, headers) of its answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            c.request(method, path, body, {k: v for k, v in headers.items() if k.lower() not in ("connection", "accept-encoding")})
            r = c.getresponse()
            out = r.read()
            return r.status, out, {k: v for k, v in r.getheaders()
                                   if k.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server")}
        finally:
            c.close()

    def forget(self):
        """All that was ended is kept by moto, and looked through: it starts anew."""
        status, out, _ = self.forward("POST", "/moto-api/reset", {"Content-Length": "0"}, b"")
        assert status == 200, out
