"""tests/near: what a change can have broken is chosen, and what is left out is said."""
import os
import re
import struct
import subprocess

import pytest

import check
from near import gcda, near, reach, tree


@pytest.fixture
def project(tmp_path, monkeypatch):
    """put(path=text): a project of its own under git, with one commit."""
    def put(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)

    def git(*args):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(check, "ROOT", str(tmp_path))
    git("init", "-q", "-b", "main")
    put({"autoscaler/plan/fit.h": "int fit(void);\n", "autoscaler/plan/fit.c": '#include "fit.h"\n',
         "autoscaler/control/loop.c": '#include "../plan/fit.h"\n', "tests/unit/test_plan_fit.c": '#include "plan/fit.h"\n',
         "tests/unit/test_control_loop.c": "", "tests/lib/kube.py": "def get(): pass\n", "tests/lib/plane.py": "from lib import kube\n",
         "tests/k8s/test_pods.py": "from lib.plane import Plane\n\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n",
         "tests/integration/test_api.py": "def test_a(): pass\n"})
    git("add", ".")
    git("commit", "-qm", "first")
    return put


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """chosen(table, costs, **select): the tests that near.py would run, and those it leaves out, by name."""
    def choose(table="", costs="", seconds=60):
        (tmp_path / "build").mkdir(exist_ok=True)
        for name, text in (("reach.txt", table), ("costs.txt", costs)):
            (tmp_path / "build" / name).write_text(text)
        monkeypatch.setattr(near, "HERE", str(tmp_path / "build"))
        jobs = near.Choice(near.changed_lines("HEAD")).make()
        took, out = near.select(jobs, seconds)
        return [str(j) for j in took], [str(j) for j in out]
    return choose


def test_a_changed_room_has_its_unit_tests_and_what_is_always_run(project, chosen):
    project({"autoscaler/plan/fit.c": "// changed\n"})
    took, _ = chosen()
    assert "unit: tests/unit/test_plan_fit.c" in took and "unit: tests/unit/test_control_loop.c" not in took
    assert {"lint", "storm-found", "sequences"} <= set(took)


def test_a_header_reaches_who_includes_it(project, chosen):
    project({"autoscaler/plan/fit.h": "int fit(int);\n"})
    table = "column integration tests/integration/test_api.py\nz autoscaler/control/loop.c\n"
    assert "integration: tests/integration/test_api.py" in chosen(table)[0]


def test_a_file_of_tests_reaches_who_imports_it(project, chosen):
    project({"tests/lib/kube.py": "def get(): return 1\n"})
    assert "k8s-pods: tests/k8s/test_pods.py" in chosen()[0]


def test_of_a_long_changed_file_only_the_changed_tests_run(project, chosen):
    project({"tests/k8s/test_pods.py": "from lib.plane import Plane\n\ndef test_a():\n    pass\n\ndef test_b():\n    assert 1\n"})
    assert "k8s-pods: tests/k8s/test_pods.py::test_b" in chosen(costs="k8s-pods tests/k8s/test_pods.py 300\n")[0]
    assert "k8s-pods: tests/k8s/test_pods.py" in chosen(costs="k8s-pods tests/k8s/test_pods.py 3\n")[0]


def test_the_most_reach_for_its_cost_comes_first_and_the_rest_is_named(project, chosen):
    project({"autoscaler/plan/fit.c": "// changed\n"})
    table = ("column integration tests/integration/test_api.py\ncolumn k8s-pods tests/k8s/test_pods.py\n"
             "zz autoscaler/plan/fit.c\n")
    costs = "integration tests/integration/test_api.py 5\nk8s-pods tests/k8s/test_pods.py 500\n"
    took, out = chosen(table, costs)
    assert "integration: tests/integration/test_api.py" in took and out == ["k8s-pods: tests/k8s/test_pods.py"]
    assert "integration: tests/integration/test_api.py" in chosen(table, costs, seconds=0)[1]


def test_a_new_file_is_reached_by_what_reaches_its_folder(project, chosen):
    project({"autoscaler/plan/new.c": "\n"})
    table = "column integration tests/integration/test_api.py\nz autoscaler/plan/fit.c\n"
    assert "integration: tests/integration/test_api.py" in chosen(table)[0]


def test_cheap_ones_run_first(project, chosen):
    project({"autoscaler/plan/fit.c": "// changed\n"})
    costs = "storm-found storm-found 9\nlint lint 3\nsequences sequences 1\nprop tests/prop/test_golden.py 4\n"
    took, _ = chosen(costs=costs)
    always = [n for n in took if n in ("lint", "storm-found", "sequences")]
    assert always == ["sequences", "lint", "storm-found"]


def test_a_build_may_take_longer_than_all_and_what_must_run_runs(project, tmp_path, monkeypatch, capsys):
    """A tree that was not built before, or a busy machine: make has no time limit, and the time is over when it is done."""
    run, limits = subprocess.run, []

    def seen(command, **more):
        limits.extend([more.get("timeout")] if command[0] == "make" else [])
        return run(command, **more)
    project({"Makefile": "%:\n\t@true\n", "build/reach.txt": "", "build/costs.txt": ""})
    monkeypatch.setattr(near, "HERE", str(tmp_path / "build"))
    monkeypatch.setattr(near, "ALWAYS", {("a", "a")})
    monkeypatch.setattr(check, "SUITES", {"a": check.Suite("sh", "-c", "echo 1 passed, 0 failed")})
    monkeypatch.setattr(near.subprocess, "run", seen)
    monkeypatch.setattr("sys.argv", ["near.py", "--base", "HEAD", "--seconds", "0"])
    assert near.main() == 0
    assert capsys.readouterr().out.endswith("\n1 passed, 0 failed\n") and limits == [None]


def test_every_test_file_is_of_a_suite():
    """What no suite runs would be chosen for nothing; what lib/ and others give is no test."""
    out = subprocess.run(["git", "ls-files", "tests"], cwd=check.ROOT, capture_output=True, text=True, check=True).stdout
    tests = [p for p in out.splitlines() if re.fullmatch(r"tests/.*/test_\w+\.(py|c)", p)]
    lost = [p for p in tests if near.suite_of(p) is None]
    assert len(tests) > 150 and lost and all(p.startswith("tests/storm/") for p in lost), "sequences always run, and they alone"


def test_a_file_of_a_suite_that_is_a_command_runs_it_or_alone(project, chosen):
    project({"tests/exec/test_daemon.py": "def test_a(): pass\n", "tests/exec/test_exec.c": "", "tests/fuzz/fuzz_x.c": "", "tests/contract/laws.c": ""})
    assert {"exec: tests/exec/test_daemon.py", "unit: tests/exec/test_exec.c", "fuzz", "contract"} <= set(chosen()[0])
    assert near.command_of(near.Job("exec", "tests/exec/test_daemon.py", 0)).tests == ["tests/exec/test_daemon.py"]
    assert "exec" not in chosen()[0]


def test_counters_of_gcc_are_read(tmp_path):
    (tmp_path / "a.c").write_text("int main(int n, char **v) { (void)v; if (n > 5) return 3; return 0; }\nint never(int x) { return x ? 1 : 2; }\n")
    env = dict(os.environ, CCACHE_DISABLE="1", PATH=os.environ["PATH"].replace("/usr/lib/ccache:", ""))
    subprocess.run(["gcc", "--coverage", "-O1", "-o", "a", "a.c"], cwd=tmp_path, check=True, env=env)
    subprocess.run([tmp_path / "a"], cwd=tmp_path, check=True)
    got = gcda.read(next(tmp_path.glob("*.gcda")))
    assert len(got) == 2 and sorted(any(arcs) for arcs in got.values()) == [False, True]
    (tmp_path / "bad.gcda").write_bytes(struct.pack("4I", 1, 2, 3, 4))
    assert gcda.read(tmp_path / "bad.gcda") == {}


def test_lines_that_a_suite_alone_reaches(tmp_path, monkeypatch, capsys):
    """Counters of an earlier build are of other lines: they are named, and left out."""
    env = dict(os.environ, CCACHE_DISABLE="1", PATH=os.environ["PATH"].replace("/usr/lib/ccache:", ""), GCOV_PREFIX_STRIP=str(str(tmp_path).count("/")))
    monkeypatch.setattr(reach, "ROOT", str(tmp_path))
    monkeypatch.setattr(reach, "FOLDER", str(tmp_path / "build/reach"))
    (tmp_path / "build/cov/autoscaler").mkdir(parents=True)
    (tmp_path / "autoscaler").mkdir()

    def built(text):
        (tmp_path / "autoscaler/a.c").write_text(text)
        subprocess.run(["gcc", "--coverage", "-O0", "-c", "-o", "build/cov/autoscaler/a.o", "autoscaler/a.c"], cwd=tmp_path, check=True, env=env)
        subprocess.run(["gcc", "--coverage", "-o", "a", "build/cov/autoscaler/a.o"], cwd=tmp_path, check=True, env=env)

    def ran(suite, *args):
        subprocess.run([tmp_path / "a", *args], cwd=tmp_path, check=True, env=dict(env, GCOV_PREFIX=f"{tmp_path}/build/reach/{suite}/{suite}"))

    source = "int main(int n, char **v)\n{\n    if (n > 1)\n        n = 0;\n    return n > 0 ? 0 : !v;\n}\n"
    built(source)
    ran("few")
    ran("more", "x")
    reach.print_alone(["few", "more"])
    assert capsys.readouterr().out.splitlines()[1:3] == ["more: 1 lines alone, in 1 files; 2 arcs alone", "    autoscaler/a.c: 4"]
    built("/* a line more */\nint other(void);\nint other(void)\n{\n    return 3;\n}\n" + source)
    ran("more", "x")
    reach.print_alone(["few", "more"])
    out = capsys.readouterr().out
    assert "few: 1 files were changed since it ran and are left out" in out and "few: 0 lines alone" in out


@pytest.mark.parametrize("path, source", [
    ("/r/e/build/cov/autoscaler/plan/fit.gcda", "autoscaler/plan/fit.c"),
    ("/r/e/build/cov/kit/aws/sign.gcda", "autoscaler/kit/aws/sign.c"),
    ("/r/e/build/cov/rare/autoscaler/control/a.gcda", "autoscaler/control/a.c"),
    ("/r/e/build/cov/providers/eks/eks.gcda", "providers/eks/eks.c"),
    ("/r/e/build/cov/tests/storm/world.gcda", None),
])
def test_counters_are_of_a_source(path, source):
    assert reach.source_of(path) == source


def test_tests_at_changed_lines(tmp_path):
    path = tmp_path / "test_x.py"
    path.write_text("import os\n\n@mark\ndef test_a():\n    pass\n\n\ndef test_b():\n    pass\n\n\ndef helper():\n    pass\n")
    assert tree.tests_at(path, [(3, 3)]) == ["test_a"]
    assert tree.tests_at(path, [(1, 1), (12, 13)]) == []
    assert tree.tests_at(path, [(5, 8)]) == ["test_a", "test_b"]
