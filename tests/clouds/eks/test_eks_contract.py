"""The contract suite every provider passes, on this one."""
import subprocess

import pytest

from eks_rig import BUILD, environment


@pytest.mark.parametrize("how", ["desired", "instances"])
def test_contract(cloud, tmp_path, how):
    cloud.fresh(gpu={"max": 60})

    def ctl(name, body):
        return f"curl -fsS -o /dev/null --noproxy '*' {cloud.url}/_test/{name} -d '{body}'"

    def fault(action, code, status=400):
        return ctl("fault", '{"action":"%s","kind":"error","code":"%s","status":%d,"times":-1}' % (action, code, status))
    raise_ = "SetDesiredCapacity" if how == "desired" else "LaunchInstances"
    faults = {"THROTTLED": fault("*", "Throttling"), "AUTH": fault("*", "AccessDenied", 403),
              "RETRY": ctl("fault", '{"action":"*","kind":"html","times":-1}'),
              "QUOTA": fault(raise_, "VcpuLimitExceeded"), "STOCKOUT": fault(raise_, "InsufficientInstanceCapacity", 500),
              "INVALID": fault(raise_, "ValidationError")}
    args = [str(BUILD / "tests" / "check_provider"), str(BUILD / "plugins" / "davit-eks.so"),
            "-t", "gpu", "-r", "GPU=1", "-O", f"pools.us-east-1a={cloud.names['gpu']}", "-O", f"launch={how}", "-z", "us-east-1a",
            "-o", "region=us-east-1", "-o", f"cluster={cloud.cluster}", "-o", f"endpoint={cloud.url}",
            "--ready", "20", "--gone", "20", "--call", "20", "--settle", "0.05", "--heal", ctl("heal", "{}")]
    for status, command in faults.items():
        args += ["--fault", f"{status}={command}"]
    p = subprocess.run(args, capture_output=True, text=True, timeout=400, env=environment(tmp_path))
    print(p.stdout[-3000:])
    assert p.returncode == 0, p.stdout[-3000:] + p.stderr[-3000:]
    assert " 0 broken, 0 skipped" in p.stdout
    see = cloud.at("gpu")
    assert see["target"] == 0 == len(see["machines"])
