#!/usr/bin/env python3
"""`make hostile`: every kind of hostile client for ten minutes (HOSTILE_S), all kinds side by side, then the rest of
tests/hostile.  Ends with a table and `N passed, N failed`.

    long.py [--k8s]     --k8s: the shipped manifests too, which needs DAVIT_K8S_BINS
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLOW = "tests/hostile/test_slow.py::test_"
KINDS = [SLOW + "byte_a_second[api-one]", SLOW + "byte_a_second[api-many]", SLOW + "byte_a_second[metrics-one]",
         SLOW + "byte_a_second[metrics-many]", SLOW + "unfinished_bodies", SLOW + "slow_readers"]
MANIFESTS = "tests/k8s/test_attack.py"


def pytest(*args, **kw):
    return subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-s", *args], cwd=ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", **kw)


def counts(text):
    """(passed, failed) of pytest's closing line."""
    last = ([line for line in text.splitlines() if re.search(r"\d+ (passed|failed|error)", line)] or [""])[-1]
    return (sum(map(int, re.findall(r"(\d+) passed", last))),
            sum(map(int, re.findall(r"(\d+) (?:failed|error|skipped)", last))))


def main():
    seconds = float(os.environ.get("HOSTILE_S", "600"))
    kinds = KINDS + [MANIFESTS] * ("--k8s" in sys.argv)
    report = tempfile.NamedTemporaryFile("r", prefix="hostile-", suffix=".jsonl")
    env = dict(os.environ, HOSTILE_S=str(seconds), HOSTILE_REPORT=report.name)
    began = time.monotonic()
    print(f"hostile: {len(kinds)} kinds side by side, {seconds:.0f} s each", flush=True)
    runs = [(kind, pytest(kind, env=env)) for kind in kinds]
    outs = [(kind, p.communicate()[0], p.returncode) for kind, p in runs]
    rest = pytest("tests/hostile", *(f"--deselect={k}" for k in KINDS))
    outs.append(("the rest of tests/hostile", rest.communicate()[0], rest.returncode))
    passed = failed = 0
    for kind, out, code in outs:
        good, bad = counts(out)
        passed, failed = passed + good, failed + (bad or int(code != 0))
        if code:
            print(f"FAILED {kind}\n{out[-4000:]}")
    rows = sorted(map(json.loads, report), key=lambda r: r["kind"])
    print(f"\n| {'kind':32} | seconds |  probes | lost | slowest s | most MiB | clients closed |\n|{'---|' * 7}")
    for r in rows:
        print(f"| {r['kind'].removeprefix('test_'):32} | {r['seconds']:7.0f} | {r['probes']:7,} | {r['lost']:4} | {r['slowest']:9.3f} |"
              f" {r['mib']:8} | {r['closed']:14,} |")
    if rows:
        worst = max(rows, key=lambda r: r["slowest"])
        print(f"hostile: {sum(r['probes'] for r in rows):,} probes, {sum(r['lost'] for r in rows)} lost, the slowest"
              f" {worst['slowest']:.3f} s ({worst['kind']}; the limit is 1 s), in {time.monotonic() - began:.0f} s")
    if len(rows) < len(kinds):
        print(f"hostile: {len(kinds) - len(rows)} kinds did not come to an end")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or len(rows) < len(kinds))


if __name__ == "__main__":
    sys.exit(main())
