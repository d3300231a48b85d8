#!/usr/bin/env python3
"""Runs fuzz targets from their seeds.

    fuzz.py replay BUILD TARGET...      without libFuzzer: seeds, and blind mutations by a printed seed (replay.c)
    fuzz.py guided BUILD TARGET...      with it: so many runs each from the seeds, for `make check`
    fuzz.py hour BUILD --minutes N TARGET...   N minutes of CPU time over all; corpora are kept in BUILD/corpus, and a run
                                        that was broken off goes on

What breaks a target is kept in BUILD/found, for `BUILD/tests/fuzz_TARGET FILE` and then, small, for tests/fuzz/seeds.
Ends with a table, or a line that counts.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = {  # beside tests/fuzz/seeds/TARGET
    "config": ["configs/*.yaml", "tests/unit/config/*/*.yaml"],
    "snapshot": ["tests/cases/*/*.json", "tests/golden/*.json", "tests/golden/*/*.json", "tests/fuzz/seeds/*.json"],
    "elf": ["{build}/tests/fuzz_seed.so"],
    "text": ["tests/fuzz/seeds/request/*"],
}
RUNS, LONGEST = 1500, 65536  # of a guided run; and bytes
SLICE = 60  # seconds of a target, of an hour
ROUNDS = {"catalogue": 300, "journal": 500, "elf": 500}  # of a replay, where one takes long


def seeds(target, build):
    found = glob.glob(os.path.join(ROOT, "tests/fuzz/seeds", target, "*"))
    for pattern in SEEDS.get(target, []):
        found += glob.glob(os.path.join(ROOT, pattern.format(build=build)))
    return sorted(found)


def ended(name, p):
    """Says what a target that broke said."""
    if p.returncode:
        print(f"FAILED {name} (exit code {p.returncode})\n{p.stdout[-4000:]}", flush=True)
    return p.returncode == 0


def replay(build, targets):
    good = 0
    for t in targets:
        args = ["-n", "5000"] if t == "ray" else seeds(t, build)
        env = dict(os.environ, FUZZ_ROUNDS=os.environ.get("FUZZ_ROUNDS", str(ROUNDS.get(t, 3000))))
        p = subprocess.run([f"{build}/tests/fuzz_{t}", *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace", env=env)
        print(f"{t}: {' '.join(p.stdout.split()[:1])} {len(args)} files", flush=True)
        good += ended(t, p)
    print(f"fuzz: {good} passed, {len(targets) - good} failed")
    return good == len(targets)


def libfuzzer(build, target, *args):
    """(went well, executions, edges, output, seconds of CPU time) of one run."""
    corpus, found = f"{build}/corpus/{target}", f"{build}/found/"
    os.makedirs(os.path.join(ROOT, corpus), exist_ok=True)
    os.makedirs(os.path.join(ROOT, found), exist_ok=True)
    given = os.path.join(ROOT, build, "seeds", target)
    shutil.rmtree(given, ignore_errors=True)
    os.makedirs(given)
    for i, path in enumerate(seeds(target, build)):
        os.symlink(path, f"{given}/{i}")
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        p = subprocess.Popen([f"{build}/tests/fuzz_{target}", "-print_final_stats=1", f"-max_len={LONGEST}", "-timeout=20",
                              "-rss_limit_mb=2048", f"-artifact_prefix={found}{target}-", *args, corpus, given], cwd=ROOT,
                             stdout=out, stderr=subprocess.STDOUT,
                             env=dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1"))
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        p.stdout = out.read()
    runs = re.findall(r"stat::number_of_executed_units: (\d+)", p.stdout)
    edges = re.findall(r"cov: (\d+)", p.stdout)
    return (ended(target, p), int(runs[-1]) if runs else 0, int(edges[-1]) if edges else 0, p.stdout,
            used.ru_utime + used.ru_stime)


def guided(build, targets):
    good = 0
    for t in targets:
        went, runs, edges, out, _ = libfuzzer(build, t, f"-runs={RUNS}", "-max_total_time=4")
        seed = re.search(r"Seed: \d+", out)
        print(f"{t}: {runs} executions, {edges} edges, {seed.group(0) if seed else ''}", flush=True)
        good += went and runs > 0
    print(f"fuzz: guided: {good} passed, {len(targets) - good} failed")
    return good == len(targets)


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def hour(build, targets, minutes):
    """The target that has had the least CPU time is next, for a slice on each core, until all together had so many minutes.

    What each has had is in BUILD/hour.json: who breaks this off and starts it again goes on there.  A new hour begins
    without that file."""
    path = os.path.join(ROOT, build, "hour.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    had = load(path)
    blank = {"executions": 0, "edges": 0, "cpu": 0.0, "findings": 0}
    rows = {t: had.get(t, dict(blank)) for t in targets}
    lock, running = threading.Lock(), set()

    def work(_):
        while True:
            with lock:
                if sum(r["cpu"] for r in rows.values()) >= minutes * 60:
                    return
                t = min((t for t in targets if t not in running), key=lambda t: rows[t]["cpu"])
                running.add(t)
            went, runs, edges, _, cpu = libfuzzer(build, t, f"-max_total_time={SLICE}")
            with lock:
                running.remove(t)
                row = rows[t]
                row["executions"] += runs
                row["edges"] = max(row["edges"], edges)
                row["cpu"] += max(0.1, cpu)
                row["findings"] += not went
                with open(path + ".new", "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
                os.replace(path + ".new", path)

    workers = min(os.cpu_count() or 1, len(targets))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    for t, row in [*rows.items(), ("all", {k: sum(r[k] for r in rows.values()) for k in blank})]:
        print(f"| {t} | {row['executions']:,} | {row['edges']:,} | {row['cpu']:.0f} s | {row['findings'] or 'none'} |")
    return not any(r["findings"] for r in rows.values())


def main():
    how, build, *rest = sys.argv[1:]
    minutes = float(rest[rest.index("--minutes") + 1]) if "--minutes" in rest else 60
    targets = [t for i, t in enumerate(rest) if t != "--minutes" and (i == 0 or rest[i - 1] != "--minutes")]
    good = {"replay": lambda: replay(build, targets), "guided": lambda: guided(build, targets),
            "hour": lambda: hour(build, targets, minutes)}[how]()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
