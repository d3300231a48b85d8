#!/usr/bin/env python3
"""What each suite and each test file reaches: `make check-cost`, and the table that `make check-near` chooses by.

reach.py run [SUITE...]   runs the suites on build/cov, counters of each test file in a folder of their own, and writes
                          tests/near/reach.txt: a row a file of the project, a column a test file (or a suite without any)
reach.py table            writes it anew from the counters that are there, and costs.txt from build/check.json
reach.py cost             the dearest fifty tests of build/check.json, and the lines that each suite alone reaches
A program that is killed with SIGKILL leaves no counters.
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import check  # noqa: E402
from near import gcda  # noqa: E402

FOLDER = os.path.join(ROOT, "build/reach")
TABLE = os.path.join(ROOT, "tests/near/reach.txt")
# What is not of the C tree's code, or builds another tree's.
NOT_RUN = {"lint", "fuzz-guided", "packages"}
DEPTHS = "0123456789abcdefghijklmnopqrstuvwxyz"
OBJECTS = re.compile(r".*/build/cov/(?:rare/)?(?P<path>.*)\.gcda$")


def folder_name(test_file):
    """As lib/outcomes.py and unit/run.sh name it."""
    return re.sub(r"\W", "_", test_file)


def source_of(counters):
    """autoscaler/x.c of the path of its counters; None for what is not ours."""
    m = OBJECTS.match(counters)
    path = m and m["path"]
    if not path:
        return None
    path = "autoscaler/" + path if path.startswith("kit/") else path
    return path + ".c" if path.startswith(("autoscaler/", "providers/")) else None


def covered(suite):
    """The suite as it runs on build/cov."""
    command = [{"VARIANT=debug": "VARIANT=cov"}.get(word, word) for word in suite.command]
    if "make" in command and "VARIANT=cov" not in command:
        command.append("VARIANT=cov")
    return check.Suite(*command, tests=suite.tests, real=suite.real)


def run(names):
    """Runs suites one after another; {suite: {test file: files of the project it opened}}."""
    opened = {}
    for name in names:
        shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
        os.environ.update(DAVIT_BUILD="build/cov", DAVIT_REACH=os.path.join(FOLDER, name), GCOV_PREFIX_STRIP=str(ROOT.count("/")),
                          GCOV_PREFIX=os.path.join(FOLDER, name, name))
        r = check.Run(name, covered(check.SUITES[name]))
        print("\n".join([f"failed: {t}" for t in r.failures] + r.ends), flush=True)
        opened[name] = r.opened
        os.makedirs(os.path.join(FOLDER, name), exist_ok=True)
        with open(os.path.join(FOLDER, name, "opened.json"), "w") as f:
            json.dump(r.opened, f)
        with open(os.path.join(FOLDER, name, "run.json"), "w") as f:
            json.dump({"s": r.seconds, "cpu": r.cpu, "passed": r.passed, "failed": r.failed,
                       "tests": {t: [row["s"], row["cpu"]] for t, row in r.rows.items() if "s" in row}}, f)
    return opened


def notes_of(counters):
    return os.path.join(ROOT, "build/cov", counters.split("/build/cov/")[1][:-5] + ".gcno")


def is_of_this_build(counters):
    """The compiler stamps what it knows of an object, and what that object counts: the third word of both files."""
    try:
        with open(counters, "rb") as c, open(notes_of(counters), "rb") as n:
            return c.read(12)[8:] == n.read(12)[8:]
    except OSError:
        return False


def counters_of(folder, name="*", now=False):
    """(path, source) of our counters in a folder; now: those alone that are of what build/cov holds now."""
    for path in glob.glob(os.path.join(glob.escape(folder), f"**/{name}.gcda"), recursive=True):
        source = source_of(path)
        if source is not None and not (now and not is_of_this_build(path)):
            yield path, source


def arcs_of(folder, now=False):
    """{source: {(function, arc)}: touched}, and {source: how many arcs its functions have} of a folder of counters."""
    touched, total = collections.defaultdict(set), collections.defaultdict(int)
    for path, source in counters_of(folder, now=now):
        counts = gcda.read(path)
        total[source] = max(total[source], sum(map(len, counts.values())))
        touched[source] |= {(name, i) for name, arcs in counts.items() for i, n in enumerate(arcs) if n}
    return touched, total


def units_of(suite):
    """{test file, or the suite's own name: folder of its counters}"""
    base = os.path.join(FOLDER, suite)
    try:
        with open(os.path.join(base, "opened.json")) as f:
            opened = json.load(f)
    except OSError:
        opened = {}  # the run broke off: its counters count
    tests = glob.glob(os.path.join(ROOT, "tests/unit/test_*.c")) + glob.glob(os.path.join(ROOT, "tests/**/test_*.py"), recursive=True)
    names = {folder_name(p): p for p in (os.path.relpath(p, ROOT) for p in tests)}
    found = {}
    for entry in sorted(os.listdir(base)):
        if os.path.isdir(os.path.join(base, entry)):
            found[names.get(entry, suite)] = os.path.join(base, entry)
    return found, opened


def write_table(suites):
    """reach.txt: columns first (suite, test file), then a row a file of the project: how deep each column reaches into it.
    `.` not at all, `0` to `z` by the share of its arcs; of a file that is only opened `z`."""
    columns, rows = [], collections.defaultdict(dict)
    for suite in suites:
        units, opened = units_of(suite)
        for unit in sorted({*units, *opened}):
            n = len(columns)
            columns.append((suite, unit))
            if unit in units:
                touched, total = arcs_of(units[unit])
                for source, arcs in touched.items():
                    if arcs:
                        rows[source][n] = DEPTHS[min(35, 36 * len(arcs) // total[source])]
            for path in opened.get(unit, ()):
                if os.path.isfile(os.path.join(ROOT, path)):
                    rows[path][n] = "z"
    with open(TABLE + ".new", "w") as f:
        f.write("# Made by `make check-cost` (tests/near/reach.py): which test files reach which files of the project.\n")
        for suite, unit in columns:
            f.write(f"column {suite} {unit}\n")
        for path in sorted(rows):
            f.write("".join(rows[path].get(n, ".") for n in range(len(columns))).rstrip(".") + f" {path}\n")
    os.replace(TABLE + ".new", TABLE)


def kept_costs():
    """What `make check` kept; None where nobody ran it."""
    try:
        with open(os.path.join(ROOT, "build/check.json")) as f:
            return json.load(f)
    except OSError:
        return None


def measured():
    """What the runs on the coverage build cost."""
    suites = {}
    for path in glob.glob(os.path.join(FOLDER, "*/run.json")):
        with open(path) as f:
            suites[os.path.basename(os.path.dirname(path))] = json.load(f)
    return {"suites": suites}


def write_costs():
    """costs.txt of the last `make check`, else of the coverage build: check-near goes by it where nobody ran that."""
    kept = kept_costs() or measured()
    with open(os.path.join(os.path.dirname(TABLE), "costs.txt"), "w") as f:
        f.write("# Made by `make check-cost`: suite, test file, seconds (CPU, and half of what it waits).\n")
        for (suite, unit), seconds in sorted(check.costs_of(kept).items()):
            f.write(f"{suite} {unit} {seconds:.1f}\n")


def alone(suites):
    """{suite: {source: arcs that no other suite touches}}"""
    touched = {s: arcs_of(os.path.join(FOLDER, s), now=True)[0] for s in suites}
    seen = collections.Counter((source, arc) for found in touched.values() for source, arcs in found.items() for arc in arcs)
    return {s: {source: only for source, arcs in found.items() if (only := {a for a in arcs if seen[source, a] == 1})}
            for s, found in touched.items()}


def executed(folder_of_counters, source):
    """Lines of a source that ran, by gcov, all counters of the folder for it added up."""
    lines = set()
    for path, of in counters_of(folder_of_counters, os.path.basename(source)[:-2], now=True):
        if of != source:
            continue
        notes = notes_of(path)
        here = os.path.join(FOLDER, "gcov")
        os.makedirs(here, exist_ok=True)
        shutil.copy(path, os.path.join(here, "x.gcda"))
        shutil.copy(notes, os.path.join(here, "x.gcno"))
        out = subprocess.run(["gcov", "--json-format", "--stdout", "x.gcda"], cwd=here, capture_output=True, text=True, check=True).stdout
        for f in json.loads(out)["files"]:
            if os.path.relpath(os.path.join(ROOT, f["file"]), ROOT) == source:
                lines |= {line["line_number"] for line in f["lines"] if line["count"]}
    return lines


def earlier(suites):
    """{suite: how many sources it reaches by counters of an earlier build}"""
    found = {s: {source for path, source in counters_of(os.path.join(FOLDER, s)) if not is_of_this_build(path)} for s in suites}
    return {s: len(sources) for s, sources in found.items() if sources}


def print_alone(suites):
    for suite, n in earlier(suites).items():
        print(f"{suite}: {n} files were changed since it ran and are left out: `make check-cost SUITES={suite}` runs it again")
    for suite, sources in sorted(alone(suites).items()):
        lines = {}
        for source in sources:
            others = set().union(*(executed(os.path.join(FOLDER, s), source) for s in suites if s != suite))
            mine = executed(os.path.join(FOLDER, suite), source) - others
            if mine:
                lines[source] = sorted(mine)
        print(f"{suite}: {sum(map(len, lines.values()))} lines alone, in {len(lines)} files; {sum(map(len, sources.values()))} arcs alone")
        for source, numbers in sorted(lines.items(), key=lambda x: -len(x[1]))[:12]:
            print(f"    {source}: {' '.join(map(str, numbers[:20]))}{' ...' if len(numbers) > 20 else ''}")


def print_cost():
    kept = kept_costs()
    if kept is None:
        print("check-cost: no build/check.json: `make check` writes it")
        return
    kept = kept["suites"]
    tests = [(cpu, s, suite, t) for suite, r in kept.items() for t, (s, cpu) in r["tests"].items()]
    print(f"{'CPU s':>8} {'wall s':>8}  the dearest fifty of {len(tests)} tests")
    for cpu, s, suite, test in sorted(tests, reverse=True)[:50]:
        print(f"{cpu:8.1f} {s:8.1f}  {suite}: {test}")


def there():
    return [s for s in check.SUITES if s not in check.LONG and os.path.isdir(os.path.join(FOLDER, s))]


def main():
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:] or [s for lane in check.LANES for s in lane if s not in NOT_RUN])
        write_table(there())
        write_costs()
    elif sys.argv[1:] == ["table"]:
        write_table(there())
        write_costs()
    elif sys.argv[1:] == ["cost"]:
        print_cost()
        print_alone(there())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
