"""The contract suite on the plug-in, with each exchange broken in turn."""
import json
import subprocess

from aks_rig import environment
from azurevm_cloud import GROUP, LOCATION, SUB
from lib import BUILD


def test_contract(server, cloud):
    def post(path, value):
        return f"curl -fsS -o /dev/null --noproxy '*' -d '{json.dumps(value)}' {server.url}/{path}"

    def status(code, text, **kw):
        return post("_rules", {"match": "^PUT ", "do": "status", "status": code, "code": text, **kw})
    cloud.op_s, cloud.page = 0.02, 3
    args = [BUILD / "tests" / "check_provider", BUILD / "plugins" / "davit-azurevm.so", "-t", "t4", "-m", "Standard_NC4as_T4_v3",
            "-r", "CPU=4", "-r", "GPU=1", "-z", "1", "-z", "2", "--ready", "10", "--gone", "10", "--call", "10", "--settle", "0.05"]
    for k, v in {"subscription": SUB, "resource_group": GROUP, "location": LOCATION, "endpoint": server.url, "authority": server.url,
                 "imds": server.url, "image": "a:b:c:d", "subnet": "net/machines"}.items():
        args += ["-o", f"{k}={v}"]
    both = {z: [0, "AllocationFailed", "sync"] for z in "12"}
    args += ["--heal", post("_heal", {}), "--lose", post("_rules", {"match": "^PUT ", "do": "lose"}),
             "--partial", post("_set", {"quota": 2}),
             "--fault", "STOCKOUT=" + post("_set", {"short": both}), "--fault", "QUOTA=" + post("_set", {"quota": 0}),
             "--fault", "THROTTLED=" + status(429, "TooManyRequests", headers={"Retry-After": "1"}),
             "--fault", "AUTH=" + status(403, "AuthorizationFailed"), "--fault", "INVALID=" + status(400, "InvalidParameter"),
             "--fault", "RETRY=" + status(503, "ServiceUnavailable")]
    p = subprocess.run(args, capture_output=True, text=True, timeout=280, env=environment())
    print(p.stdout[-5000:], p.stderr[-2000:])
    assert p.returncode == 0 and " 0 broken, 0 skipped" in p.stdout
    assert cloud.machines() == []
