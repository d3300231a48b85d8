"""README answers what a stranger asks first."""
import os
import re
import subprocess

from lib import ROOT

README = (ROOT / "README.md").read_text()
FLAT = re.sub(r"\s+", " ", README)


def test_words_are_explained_where_they_are_first_needed():
    before = README.split("## ")[0]
    flat = re.sub(r"\s+", " ", before)
    assert "A **bundle** is what one process needs on one machine" in flat
    assert "A **request** is a standing order" in flat and "A request is not a job: your training runs where it always did" in flat
    for word in ("bundle", "request"):  # not used before it is said what it is, but for the request over REST
        assert not re.search(rf"\b{word}s?\b", re.sub(r"requests over REST", "", before.split(f"**{word}**")[0])), word


def test_both_commands_with_what_they_need_and_take():
    """And they are there."""
    rows = {c[0].strip("` "): c for c in ([x.strip() for x in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("| `make "))}
    assert set(rows) == {"make demo", "make check"} and all(len(r) == 4 and all(r) for r in rows.values()), rows
    targets = (ROOT / "tests/tests.mk").read_text() + (ROOT / "Makefile").read_text()
    for command in rows:
        assert re.search(rf"^{command.split()[1]}:", targets, re.M), command
    assert "passed, {" in (ROOT / "tests/check.py").read_text() and "`N passed, N failed`" in README


def test_how_it_compares():
    """Five peers in one table, each with how fast, what it costs, how safe, and what Davit lacks."""
    table = FLAT.split("## Beside the others")[1].split("## ")[0]
    for peer in ("Ray's autoscaler", "KubeRay", "Cluster Autoscaler", "Karpenter", "SkyPilot"):
        assert peer in table, peer
    for column in ("it acts", "it buys", "before a node goes", "it has, and Davit lacks"):
        assert f"| {column} |" in table, column


def session(text):
    """What it says, without what differs each time: times, ids, ports, and which states of machines somebody happened to see."""
    lines = []
    for line in text.splitlines():
        if re.match(r"  \d\d:\d\d:\d\d  ", line) or re.search(r"-\d (starting|ready, made)", line):
            continue
        for what, word in ((r"\d\d:\d\d:\d\d", "TIME"), (r"(?<=-)[0-9a-f]{8}(?=-\d)", "ID"), (r"(?<=127\.0\.0\.1:)\d+", "PORT"),
                           (r"/tmp/\S*/", ""), (r"\S+/davit-demo-\w+/", ""), (r"\b(\d+m)?\d+(\.\d+)? ?s\b", "SPAN"), (r"\s+", " ")):
            line = re.sub(what, word, line)
        lines.append(line.strip())
    return lines


def test_the_recorded_demo_is_what_it_prints():
    """docs/demo.txt, which README shows, against `make demo` of today."""
    p = subprocess.run([ROOT / "tests/demo/demo.sh"], capture_output=True, text=True, timeout=300,
                       env={k: v for k, v in os.environ.items() if k != "COLUMNS"})
    assert p.returncode == 0, p.stdout + p.stderr
    assert session(p.stdout.strip()) == session((ROOT / "docs/demo.txt").read_text().strip())


def test_pictures_are_there():
    for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", README):
        assert (ROOT / name).stat().st_size > 1000, name
