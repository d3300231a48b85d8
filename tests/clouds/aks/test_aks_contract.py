"""The suite every provider passes (tests/contract), on the AKS plug-in."""
import json
import re
import subprocess

import pytest

from aks_cloud import CLUSTER, GROUP, SUB, Cloud
from aks_server import Server
from aks_rig import BUILD, environment


@pytest.mark.parametrize("headers", ["azure", "location", "none"])
def test_the_laws(driver, headers):
    cloud = Cloud(op_s=0.03, headers=(headers,), page=3)
    cloud.pool("t4", ["1"])
    with Server(cloud) as server:
        def post(path, body):
            return f"curl -fsS -o /dev/null --noproxy '*' -X POST -d '{json.dumps(body)}' {server.url}{path}"

        def stock(code):
            return post("/_pool", {"name": "t4", "set": {"stock": 0, "how": "sync", "code": code}})

        def status(status, code, **headers):
            return post("/_rules", {"match": "PUT ", "times": 1000, "do": "status", "status": status, "code": code,
                                    "headers": headers})
        faults = [("STOCKOUT", stock("AllocationFailed")), ("QUOTA", stock("QuotaExceeded")),
                  ("THROTTLED", status(429, "TooManyRequests", **{"Retry-After": "1"})),
                  ("AUTH", status(403, "AuthorizationFailed")), ("INVALID", status(400, "InvalidParameter")),
                  ("RETRY", status(503, "ServiceUnavailable")), ("RETRY", status(400, "NeverHeardOfIt"))]
        args = ["-t", "t4", "-r", "GPU=1", "-z", "1", "--ready", "20", "--gone", "20", "--call", "20", "--settle", "0.05",
                "--heal", post("/_heal", {}),
                "--lose", post("/_rules", {"match": "PUT ", "times": 1, "do": "cut"})]
        for key, value in {"subscription": SUB, "resource_group": GROUP, "cluster": CLUSTER, "endpoint": server.url,
                           "authority": server.url, "imds": server.url, "poll": "5ms", "wait": "5s", "reads.every": "0",
                           "writes.every": "0"}.items():
            args += ["-o", f"{key}={value}"]
        for want, command in faults:
            args += ["--fault", f"{want}={command}"]
        p = subprocess.run([BUILD / "tests" / "check_provider", BUILD / "plugins" / "davit-aks.so", *args], text=True,
                           capture_output=True, env=environment(), timeout=300)
    print(p.stdout)
    assert p.returncode == 0, p.stdout + p.stderr
    kept, broken = re.search(r"(\d+) laws kept, (\d+) broken", p.stdout).groups()
    assert int(kept) >= 20 and int(broken) == 0
    assert cloud.rejected == [] and cloud.lost_work == [] and cloud.machines() == []
