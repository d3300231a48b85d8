"""tests/check.py and lib/keeper.py: what they count, try again and find left behind."""
import json
import os
import subprocess
import sys

import pytest

import check
from lib import TESTS, until


@pytest.fixture
def suites(monkeypatch, tmp_path):
    """put(name=Suite): the only suites there are, in one lane and in tmp_path."""
    def put(**made):
        monkeypatch.setattr(check, "ROOT", tmp_path)
        monkeypatch.setattr(check, "SUITES", made)
        monkeypatch.setattr(check, "LANES", [list(made)])
        monkeypatch.setattr(sys, "argv", ["check.py"])
    return put


@pytest.fixture
def tests_in(tmp_path):
    """write(text, real): a suite of pytest; {once} is a file that is not there the first time."""
    def write(text, real=True):
        path = tmp_path / "test_it.py"
        once = f"""
import os, pathlib, pytest
def flake(name):
    p = pathlib.Path({str(tmp_path)!r}, name)
    seen = p.exists()
    p.touch()
    return seen
"""
        path.write_text(once + text)
        return check.pytest(str(path), python=sys.executable, real=real)
    return write


SEEDED = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from lib import seeds
def seed():
    n = seeds.seed()
    with open(pathlib.Path(__file__).parent / "drawn", "a") as f:
        print(n, file=f)
"""


def shell(text):
    return check.Suite("sh", "-c", text)


@pytest.mark.parametrize("lines, counts", [
    (["3 passed in 1.2s"], (3, 0)),
    (["2 failed, 3 passed, 1 skipped, 1 error in 1.2s", "bye"], (3, 4)),
    (["1 passed, 0 failed", "unit: 34 passed, 2 failed", ""], (34, 2)),
    (["nothing"], (0, 0)),
    ([], (0, 0)),
])
def test_counts_of_closing_lines(lines, counts):
    assert check.count(lines) == counts


def test_a_suite_of_any_kind_is_counted(suites, tests_in, capsys):
    suites(a=shell("echo 2 passed, 0 failed"), b=tests_in("def test_a(): pass\ndef test_b(): pass\n"))
    assert check.main() == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-2:] == ["second try: 0", "4 passed, 0 failed"]


def test_what_failed_is_named_at_the_end(suites, tests_in, capsys):
    suites(a=shell("echo 'ok    x'; echo 'FAIL  y'; echo 1 passed, 1 failed"), b=shell("echo 1 passed; exit 3"), c=shell("echo 2 failed"),
           d=tests_in("def test_flake(): assert flake('p')\ndef test_bad(): assert not 1\n"))
    assert check.main() == 1
    assert capsys.readouterr().out.splitlines()[-5:] == [
        "failed: a: FAIL  y", "failed: b: b: ended with 3", "failed: c: see above",
        "failed: d: test_it.py::test_bad", "3 passed, 5 failed"]


@pytest.mark.parametrize("text, why", [
    ("exit 0", "ran no test"),
    ("echo 3 passed; exit 3", "ended with 3"),
    ("echo 3 passed; kill -9 $$", "ended with -9"),
])
def test_a_bad_end_is_a_failure(suites, capsys, text, why):
    suites(a=shell(text))
    assert check.main() == 1
    out = capsys.readouterr().out
    assert why in out and out.splitlines()[-1].endswith(", 1 failed")


def test_what_fails_once_is_named_and_passes(suites, tests_in, capsys, tmp_path):
    suites(a=tests_in("""
@pytest.mark.parametrize("x", ["a b - c::d [e]", "f"])
def test_flake(x): assert flake("p" + x[0]) or x == "f"
def test_good(): pass
@pytest.fixture
def late():
    yield
    assert flake("late")
def test_late(late): pass
@pytest.fixture
def early(): assert flake("early")
def test_early(early): pass
"""))
    assert check.main() == 0
    out = capsys.readouterr().out
    end = out.splitlines()
    assert end[-1] == "5 passed, 0 failed"
    assert end[-5] == "second try: 3"
    assert "test_flake[a b - c::d [e]]: failed, then passed" in end[-4]
    # both outcomes in full, and the first of each is kept
    assert out.count("def test_flake(x)") == 1 and out.count("\n1 passed in") == 3
    kept = sorted((tmp_path / "build/flaky").iterdir())
    assert [p.name for p in kept] == ["1-a.txt", "2-a.txt", "3-a.txt"] and "def test_flake(x)" in kept[0].read_text()
    assert end[-4].endswith("a defect, first output in build/flaky/1-a.txt")


def test_a_second_try_has_the_seed_of_the_first(suites, tests_in, capsys, tmp_path):
    suites(a=tests_in(SEEDED + """
@pytest.mark.parametrize("x", ["a b (c) [d::e]"])
def test_server(x):
    seed()
    if not flake('p'): raise OSError('no answer')
"""))
    assert check.main() == 0
    seeds = [line for line in (tmp_path / "drawn").read_text().split()]
    assert len(seeds) == 2 and seeds[0] == seeds[1]


def test_a_law_that_a_random_test_broke_is_not_tried_again(suites, tests_in, capsys):
    suites(a=tests_in(SEEDED + """
def test_law():
    seed()
    assert flake('p'), 'four machines for three'
"""))
    assert check.main() == 1
    end = capsys.readouterr().out.splitlines()
    assert end[-3] == "second try: 0" and end[-2].startswith("failed: a: test_it.py::test_law: failed (SEED=") and end[-1] == "0 passed, 1 failed"


def test_what_it_cost_is_kept_by_test(suites, tests_in, capsys, tmp_path):
    suites(a=tests_in("def test_a(): sum(range(3000000))\ndef test_b(): open(__file__).close()\n"), b=shell("echo 1 passed"))
    assert check.main() == 0
    kept = json.loads((tmp_path / "build/check.json").read_text())["suites"]
    a = kept["a"]["tests"]
    assert set(a) == {"test_it.py::test_a", "test_it.py::test_b"} and a["test_it.py::test_a"][1] > a["test_it.py::test_b"][1]
    assert kept["b"]["passed"] == 1 and kept["b"]["s"] >= 0
    out = capsys.readouterr().out
    assert f"{'suite':18} {'tests':>6} {'wall s':>8} {'CPU s':>8}" in out


def test_what_fails_twice_fails(suites, tests_in, capsys):
    suites(a=tests_in("def test_bad(): assert not 'always'\ndef test_good(): pass\n"))
    assert check.main() == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "1 passed, 1 failed"
    assert "test_bad: failed twice" in out and out.count("> ") == 2


def test_some_suites_have_no_second_try(suites, tests_in, capsys):
    suites(a=tests_in("def test_flake(): assert flake('p')\n", real=False))
    assert check.main() == 1
    assert capsys.readouterr().out.splitlines()[-3:] == ["second try: 0", "failed: a: test_it.py::test_flake", "0 passed, 1 failed"]


def test_every_suite_is_in_one_lane():
    assert sorted(n for lane in [*check.LANES, check.LONG] for n in lane) == sorted(check.SUITES)


def test_who_has_a_second_try():
    real = {n for n, s in check.SUITES.items() if s.real}
    assert real == {"integration", "ray-head", "clouds-eks", "clouds-ec2", "clouds-gce", "clouds-azurevm", "clouds-gke", "clouds-aks", "e2e",
                    "e2e-eks", "e2e-gke", "e2e-aks", "e2e-vms", "hardening", "hostile", "page", "k8s", "k8s-pods", "k8s-written",
                    "packages", "prometheus", "pyclient", "docs", "docs-clouds", "storm-real", "shadow"}


@pytest.mark.parametrize("n", [check.SECOND_TRIES, check.SECOND_TRIES + 1])
def test_many_failures_are_no_accident(suites, tests_in, capsys, n):
    suites(a=tests_in(f"""
@pytest.mark.parametrize("x", range({n}))
def test_flake(x): assert flake(str(x))
"""))
    assert check.main() == (n > check.SECOND_TRIES)
    out = capsys.readouterr().out
    if n > check.SECOND_TRIES:
        assert f"{n} tests failed, and more than {n - 1} are no accident" in out and out.endswith(f"\n0 passed, {n} failed\n")
    else:
        assert f"second try: {n}\n" in out and out.endswith(f"\n{n} passed, 0 failed\n")


@pytest.mark.parametrize("text, passed, named", [
    ("import no_such_module\n", 0, ["test_it.py: broken"]),
    ("@pytest.mark.skip\ndef test_a(): pass\ndef test_b(): pass\n", 1, ["test_it.py::test_a: skipped"]),
    ("def test_a(): pass\ndef test_b(): os._exit(1)\n", 1, ["a: broke off"]),
    ("def test_a(): assert flake('p')\ndef test_b(): os._exit(1)\n", 0, ["test_it.py::test_a: failed", "a: broke off"]),
    ("def test_a(): assert flake('p')\ndef test_b(): raise KeyboardInterrupt\n", 0, ["test_it.py::test_a: failed"]),
    ("pytest.skip(allow_module_level=True)\n", 0, ["test_it.py: skipped"]),
])
def test_no_second_try_for_what_did_not_run(suites, tests_in, capsys, text, passed, named):
    suites(a=tests_in(text))
    assert check.main() == 1
    assert capsys.readouterr().out.splitlines()[-2 - len(named):] == [
        "second try: 0", *(f"failed: a: {n}" for n in named), f"{passed} passed, {len(named)} failed"]


def test_what_is_left_behind_is_told_and_ended(suites, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    suites(a=shell(f"setsid sleep 300 & echo $! > {tmp_path}/pid; touch $TMPDIR/some; mkdir $TMPDIR/pytest-of-me;"
                   f"echo $TMPDIR > {tmp_path}/dir; echo 1 passed"))
    old, check.KEEPER = check.KEEPER, [sys.executable, "-c", "from lib import keeper; keeper.GRACE = 0.2; keeper.main()"]
    try:
        assert check.main() == 1
    finally:
        check.KEEPER = old
    out = capsys.readouterr().out
    pid, where = (tmp_path / "pid").read_text().strip(), (tmp_path / "dir").read_text().strip()
    assert f"a: left behind: process {pid}: sleep 300" in out
    assert f"a: left behind: file {where}/some" in out and "pytest-of" not in out
    assert out.endswith("\n1 passed, 1 failed\n")
    assert not os.path.exists(f"/proc/{pid}") and not os.path.exists(where)


@pytest.mark.parametrize("first, second, failed", [
    ("1/0", "pass", 0),                                   # only the test that broke off left something
    ("1/0", "pathlib.Path(os.environ['TMPDIR'], 'y').touch()", 2),  # so does the one that passes
    ("1/0", "1/0", 2),
    ("pass", "pass", 1),                                  # no test failed: the suite leaves things behind
])
def test_what_a_failed_test_leaves_behind_is_of_its_failure(suites, tests_in, capsys, first, second, failed):
    suites(a=tests_in(f"""
def test_a():
    if flake("p"):
        {second}
    else:
        pathlib.Path(os.environ["TMPDIR"], "x").touch()
        {first}
"""))
    assert check.main() == (failed > 0)
    out = capsys.readouterr().out
    assert "a: left behind: file " in out and out.endswith(f"\n{0 if failed == 2 else 1} passed, {failed} failed\n")
    assert ("a: what was left behind was left by a test that failed" in out) == (failed == 0)


def test_what_ends_by_itself_is_not_left_behind(tmp_path):
    report = tmp_path / "report"
    p = subprocess.run([*check.KEEPER, report, "sh", "-c", "(sleep 0.5 &) ; exit 7"])
    assert p.returncode == 7
    got = json.loads(report.read_text())
    assert got["code"] == 7 and got["left"] == []


def test_it_all_ends_when_the_run_is_killed(tmp_path):
    inner = f"echo $$ $TMPDIR > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/there; setsid sleep 300 & sleep 300"
    p = subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])",
                          *check.KEEPER, tmp_path / "report", "sh", "-c", inner])
    until(lambda: (tmp_path / "there").exists())
    pid, where = (tmp_path / "there").read_text().split()
    p.kill()
    p.wait()
    until(lambda: not os.path.exists(f"/proc/{pid}") and not os.path.exists(where) and (tmp_path / "report").exists())
