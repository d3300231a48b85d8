"""The contract suite on the plug-in: every law of provider.h, on the wire too."""
import pathlib
import subprocess

from gke_rig import BUILD, environment

HERE = pathlib.Path(__file__).resolve().parent


def fault(server, key, value):
    return f"curl -fsS -o /dev/null --noproxy '*' -d '{value}' {server.url}/_test/{key}"


def suite(driver, server, *more, timeout=280):
    where = ["-z", "us-central1-a", "-z", "us-central1-b"]
    p = subprocess.run(
        [BUILD / "tests" / "check_provider", BUILD / "plugins" / "davit-gke.so", "-t", "t4", "-p", "gpu", "-r", "CPU=8",
         "-r", "GPU=1", *where, "-t", "cpu", "-p", "cpu", "-r", "CPU=8", "-o", "project=my-proj", "-o", "location=us-central1",
         "-o", "cluster=c1", "-o", f"endpoint={server.url}", "--ready", "10", "--gone", "10", "--call", "10", "--settle", "0.05",
         "--heal", fault(server, "heal", ""), *more],
        capture_output=True, text=True, timeout=timeout, env=environment(server))
    print(p.stdout[-6000:], p.stderr[-2000:])
    assert p.returncode == 0 and " 0 broken, 0 skipped" in p.stdout and "Sanitizer" not in p.stderr
    assert server.cloud.living() == [] and server.cloud.targets() == 0


def test_the_laws(driver, server):
    suite(driver, server,
          "--lose", fault(server, "lose", '{"createInstances": 1}'),
          "--fault", "THROTTLED=" + fault(server, "fail_next", "[429]"),
          "--fault", "AUTH=" + fault(server, "deny", "true"),
          "--fault", "RETRY=" + fault(server, "fail_next", "[503]"),
          "--fault", "QUOTA=" + fault(server, "fail_ops", '{"createInstances": ["QUOTA_EXCEEDED", "Quota NVIDIA_T4_GPUS exceeded"]}'),
          "--fault", "STOCKOUT=" + fault(server, "fail_ops",
                                         '{"createInstances": ["ZONE_RESOURCE_POOL_EXHAUSTED", "The zone does not have enough"]}'),
          "--fault", "INVALID=" + fault(server, "refuse", '{"createInstances": [400, "invalid", "not like this"]}'))


def test_the_laws_when_the_cloud_is_slow_to_show(driver, server):
    """Accepted, done, and visible only after a while."""
    Cloud = type(server.cloud)
    keep = dict(Cloud.FAULTS)
    try:
        Cloud.FAULTS = dict(keep, apply=0.15, op=0.2, boot=0.2)
        server.cloud.heal()
        suite(driver, server)
    finally:
        Cloud.FAULTS = keep


def test_a_lost_reply_when_the_cloud_is_quick_to_show(driver, server):
    """The plug-in looks what became of a launch without a reply, and finds all of it: OK, as on a loaded machine."""
    Cloud = type(server.cloud)
    keep = dict(Cloud.FAULTS)
    try:
        Cloud.FAULTS = dict(keep, apply=0.0)
        server.cloud.heal()
        suite(driver, server, "--only", "lost-replies", "--lose", fault(server, "lose", '{"createInstances": 1}'))
    finally:
        Cloud.FAULTS = keep
