"""Each lint fails on what it is for: one violation of each kind, planted in a copy of the tree."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import folders
import rings
import version
from lib import ROOT

FLAGS = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-c"]
RELEASE = "build/release"


class Tree:
    """A copy of our sources and of the objects made from them."""

    def __init__(self, root):
        self.root = root
        for part in ("autoscaler", "providers", "tests/unit", "tests/storm", "tests/played", "tests/bench", f"{RELEASE}/autoscaler", f"{RELEASE}/kit",
                     f"{RELEASE}/providers"):
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("*.d"))

    def write(self, path, text, built=False):
        """A new source, and its object if it has one."""
        (self.root / path).write_text(text)
        if built:
            out = f"{RELEASE}/{path[:-2].replace('autoscaler/kit/', 'kit/')}.o"
            subprocess.run([*FLAGS, "-o", out, path], cwd=self.root, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})

    def lint(self, name, *files):
        """(code, what it says) of a lint on this tree."""
        if name.endswith(".py"):
            command = [sys.executable, ROOT / "tests/lint" / name, self.root]
        else:
            command = ["bash", ROOT / "tests/lint" / name, *(self.root / f for f in files)]
        p = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NULL_STYLE": "1"})
        return p.returncode, p.stdout + p.stderr


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def plant_up(t):
    t.write("autoscaler/model/zz.c", '#include "../control/control.h"\n')


def plant_folder(t):
    for i in range(folders.MOST + 1):
        t.write(f"autoscaler/plan/zz{i}.c", "")


def plant_ring(t):
    n = rings.MOST["autoscaler/plan"] + 1
    for i in range(n):
        t.write(f"autoscaler/plan/zz{i}.c", f"void zz{(i + 1) % n}(void);\nvoid zz{i}(void)\n{{\n    zz{(i + 1) % n}();\n}}\n",
                True)


def plant_below(t):
    """Folders below the planner's are the planner's."""
    os.makedirs(t.root / "autoscaler/plan/zz", exist_ok=True)
    os.makedirs(t.root / RELEASE / "autoscaler/plan/zz", exist_ok=True)
    t.write("autoscaler/plan/zz/clock.c", "#include <time.h>\nlong zz(void);\nlong zz(void)\n{\n    return time(0);\n}\n", True)


def plant_variable(t):
    t.write("autoscaler/plan/zz.c", "int zz;\nint zz = 3;\n", True)


def plant_unused(t):
    t.write("autoscaler/base/zz.c", "int zz_unused(void);\nint zz_unused(void)\n{\n    return 3;\n}\n", True)


def plant_tests_only(t):
    t.write("autoscaler/base/zz.c", "int zz_tested(void);\nint zz_tested(void)\n{\n    return 3;\n}\n", True)
    t.write("tests/unit/zz.c", "int zz_tested(void);\n")


def plant_unused_in_a_plugin(t):
    """What another plug-in uses under the same name is another thing."""
    t.write("providers/sim/zz.c", "int zz(void);\nint zz(void)\n{\n    return 3;\n}\n", True)
    t.write("providers/eks/zz.c", "int zz(void);\nint yy(void);\nint yy(void)\n{\n    return zz();\n}\n", True)


def plant_chance(t):
    t.write("tests/unit/zz.py", "import random\nN = random" ".randrange(5)\n")


def plant_time(t):
    t.write("tests/unit/zz.c", "static void zz(void)\n{\n    srand((unsigned)time(NULL));\n}\n")


def plant_table_of_digests(t):
    t.write("autoscaler/base/zz.c", '#include "digest.h"\n#include "hash.h"\nvoid *zz(struct hash *t, const char *s)\n{\n'
            '    return hash_next(t, digest_text(DIGEST_SEED, s), &(uint32_t){0});\n}\n')


def plant_own_hash(t):
    t.write("autoscaler/plan/zz.c", "unsigned zz(unsigned h, char c)\n{\n    return (h ^ c) * 16777619u;\n}\n")


def plant_writer(t):
    t.write("autoscaler/base/zz.c", "#include <fcntl.h>\nint zz(const char *p)\n{\n    return open(p,\n        O_WRONLY | O_CREAT, 0600);\n}\n")


def plant_stream(t):
    t.write("autoscaler/base/zz.c", '#include <stdio.h>\nFILE *zz(const char *p)\n{\n    return fopen(p, "a");\n}\n')


def plant_plugin_writer(t):
    t.write("providers/sim/zz.c", "#include <fcntl.h>\nint zz(const char *p)\n{\n    return open(p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);\n}\n")


@pytest.mark.parametrize("lint, plant, says", [
    ("seeds.py", plant_chance, "tests/unit/zz.py:2: draws from no seed"),
    ("seeds.py", plant_time, "tests/unit/zz.c:3: draws from a seed that is not printed"),
    ("written.py", plant_writer, "autoscaler/base/zz.c:4: opens a file for writing"),
    ("written.py", plant_stream, "autoscaler/base/zz.c:4: opens a file for writing"),
    ("written.py", plant_plugin_writer, "providers/sim/zz.c:4: opens a file for writing without O_NOFOLLOW"),
    ("keyed.py", plant_table_of_digests, "autoscaler/base/zz.c: a table and a digest"),
    ("keyed.py", plant_own_hash, "autoscaler/plan/zz.c: a hash of its own"),
    ("layers.py", plant_up, "autoscaler/model/zz.c:1: model must not see control"),
    ("folders.py", plant_folder, "autoscaler/plan: "),
    ("rings.py", plant_ring, "zz0.c zz1.c"),
    ("purity.py", plant_below, "autoscaler/plan/zz/clock.c must not use time"),
    ("purity.py", plant_variable, "autoscaler/plan/zz.c must not have a variable: zz"),
    ("unused.py", plant_unused, "autoscaler/base/zz.c: zz_unused: nobody else uses it"),
    ("unused.py", plant_tests_only, "autoscaler/base/zz.c: zz_tested: only tests use it"),
    ("unused.py", plant_unused_in_a_plugin, "providers/sim/zz.c: zz: "),
])
def test_a_violation_is_found(tree, lint, plant, says):
    assert tree.lint(lint)[0] == 0, "as it is, the tree is right"
    plant(tree)
    code, out = tree.lint(lint)
    assert code == 1 and says in out, out


@pytest.mark.parametrize("lint, line, says", [
    ("banned.sh", "int f(char *s) { strcpy(s, s); }", "strcpy"),
    ("banned.sh", "/* TODO: later */", "TODO"),
    ("banned.sh", "int f(void) { return pthread_cond_wait(&c, &m); }", "pthread_cond_wait"),
    ("banned.sh", "typedef struct { int x; } y;", "typedef struct"),
    ("banned.sh", "bool f(char *s) { return s != NULL; }", "!= NULL"),
    ("banned.sh", "\n" * 600, "601 lines"),
    ("format.sh", "int  f(void) {return 3;}", "clang-format"),
])
def test_a_line_is_found(tree, lint, line, says):
    tree.write("autoscaler/base/zz.c", "int zz(void);\n")
    assert tree.lint(lint, "autoscaler/base/zz.c")[0] == 0
    tree.write("autoscaler/base/zz.c", line + "\n")
    code, out = tree.lint(lint, "autoscaler/base/zz.c")
    assert code == 1 and says in out, out


@pytest.mark.parametrize("path, text, says", [
    ("zz.py", "import time\ntime.sleep(3)\n", "zz.py:2: a sleep"),
    ("zz.py", "import select\nselect.select([], [], [], 3)\n", "zz.py:2: a sleep"),
    ("zz.py", "until(lambda: True, 9)\n", "zz.py:1: an end of 9 s to a wait"),
    ("zz.py", "d.until(\n    it, seconds=2.5)\n", "zz.py:1: an end of 2.5 s"),
    ("zz.py", "p.wait(5)\n", "zz.py:1: an end of 5 s"),
    ("zz.py", "run(argv, timeout=9)\n", "zz.py:1: an end of 9 s"),
    ("zz.py", "s.settimeout(1)\n", "zz.py:1: an end of 1 s"),
    ("zz.py", "c.timeout = 1\n", "zz.py:1: an end of 1 s"),
    ("zz.py", "assert time.monotonic() - begun < 30\n", "zz.py:1: an upper limit to a time"),
    ("zz.py", "def f():\n    took = time.time() - begun\n    assert 3 < took < 30\n", "zz.py:3: an upper limit to a time"),
    ("zz.py", "time.sleep(3)  # wait:\n", "zz.py:1: `wait:` says no reason"),
    ("zz.py", "f(3)  # wait: it is a pleasure\n", "zz.py:1: `wait:` allows nothing here"),
    ("zz.c", "void f(void)\n{\n    usleep(3000);\n}\n", "zz.c:3: a sleep"),
    ("zz.c", "void f(void)\n{\n    nanosleep(&t, NULL);\n}\n", "zz.c:3: a sleep"),
    ("zz.c", "void f(void)\n{\n    poll(&p, 1, 5000);\n}\n", "zz.c:3: an end of 5000 ms"),
    ("zz.c", "struct timeval t = {.tv_sec = 2};\n", "zz.c:1: an end of 2 s"),
    ("zz.c", "assert_true(clock_mono_ms() - begun < 5000);\n", "zz.c:1: an upper limit of 5000 ms"),
    ("zz.c", "assert_in_range(c->took_ms, 0,\n                1900);\n", "zz.c:1: an upper limit of 1900 ms"),
    ("zz.c", "/* wait: */\n", "zz.c:1: `wait:` says no reason"),
    ("zz.sh", "true; sleep 3\n", "zz.sh:1: a sleep"),
])
def test_a_wait_for_a_time_is_found(tmp_path, path, text, says):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / path).write_text(text)
    p = subprocess.run([sys.executable, ROOT / "tests/lint/waits.py", tmp_path], capture_output=True, text=True)
    assert p.returncode == 1 and f"tests/{says}" in p.stdout, p.stdout


@pytest.mark.parametrize("path, text", [
    ("zz.py", "time.sleep(3)  # wait: the moment is drawn\n"),
    ("zz.py", "# wait: the moment is drawn\ntime.sleep(3)\n"),
    ("zz.py", "until(lambda: True)\nuntil(it, 10)\np.wait()\np.wait(PATIENCE)\n', '.join(words)\nrun(argv, timeout=60)\n"),
    ("zz.py", "assert time.monotonic() - begun > 3\nassert time.monotonic() - begun < 3 * crowded()\nassert n < 3\n"),
    ("zz.py", "TASK = 'time.sleep(3)'\n"),
    ("lib/__init__.py", "def until(what):\n    while not what():\n        time.sleep(0.02)\n"),
    ("zz.c", "/* wait: the moment\n * is drawn */\nusleep(3);\nm->host->sleep(c, ms);\npoll(&p, 1, 0);\npoll(&p, 1, -1);\n"),
    ("zz.sh", "sleep 3 # wait: it is slow\n# sleep 3\n"),
])
def test_what_says_why_it_waits_is_allowed(tmp_path, path, text):
    (tmp_path / "tests/lib").mkdir(parents=True)
    (tmp_path / "tests" / path).write_text(text)
    p = subprocess.run([sys.executable, ROOT / "tests/lint/waits.py", tmp_path], capture_output=True, text=True)
    assert p.returncode == 0, p.stdout


def test_a_source_without_an_object_is_told(tree):
    tree.write("autoscaler/plan/zz.c", "int zz;\n")
    for lint in ("purity.py", "rings.py", "unused.py"):
        code, out = tree.lint(lint)
        assert code == 1 and "zz.o: `make all` first" in out


def test_a_document_names_no_test_that_is_not_there(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text("def test_that_is_there():\n    pass\n")
    said = {}
    for name in ("test_that_is_there", "test_it", "test_it.py", "tests/test_it.py", "test_that_is_none", "test_none.c", "hostile/test_it.py"):
        (tmp_path / "README.md").write_text(f"`{name}`, in tests/test_it.py\n")
        p = subprocess.run([sys.executable, ROOT / "tests/lint/docs.py", tmp_path], capture_output=True, text=True)
        said[name] = p.returncode
        assert (p.returncode == 1) == (f"there is no test {name}" in p.stdout), p
    assert [n for n, code in said.items() if code] == ["test_that_is_none", "test_none.c", "hostile/test_it.py"], said


def test_a_document_names_no_world_and_no_test_of_a_file_that_is_not_there(tmp_path):
    (tmp_path / "docs").mkdir()
    for name, text in (("tests/test_it.py", "def test_a():\n    pass\n"), ("tests/unit/test_it.c", "static void a_law(void **state)\n{\n}\n"),
                       ("tests/cases/x.yaml", ""), ("tests/k8s/random/written.py", 'world("one", T)\nworld("two", T)\n')):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    bad = []
    for said in ("`test_it.py::test_a`", "`test_it.py::test_b`", "`unit/test_it.c::a_law`", "`unit/test_it.c::test_a`", "`test_none.c::a_law`",
                 "`test_it.py::test_a[cases/x.yaml]`", "`test_it.py::test_a[y.yaml]`", "world `one`", "worlds `one`, `two`", "worlds `one`, `three`"):
        (tmp_path / "README.md").write_text(f"| {said} | more |\n")
        p = subprocess.run([sys.executable, ROOT / "tests/lint/docs.py", tmp_path], capture_output=True, text=True)
        assert (p.returncode == 1) == ("there is no " in p.stdout), p
        bad += [said] if p.returncode else []
    assert bad == ["`test_it.py::test_b`", "`unit/test_it.c::test_a`", "`test_none.c::a_law`", "`test_it.py::test_a[y.yaml]`", "worlds `one`, `three`"], bad


def test_a_path_that_a_document_names_is_a_route(tmp_path):
    (tmp_path / "autoscaler/api").mkdir(parents=True)
    (tmp_path / "autoscaler/api/route.c").write_text('{"GET", "/v1/status", s, 0},\n{"POST", "/v1/nodes/{}/drain", d, 0},\n{"GET", "/v1/nodes", n, 0},\n')
    bad = []
    for said in ("/v1/status", "GET /v1/status?x=1", "POST /v1/status", "POST /v1/nodes/{id}/drain", "/v1/nodes/t4-1/drain", "/v1/nodes/t4-1", "/v1/types", "/v1/nodes/",
                 "curl http://127.0.0.1:6590/v1/none", "curl $DAVIT/v1/none", "davit.ray:6590/v1/none.", "/openid/v1/jwks", "https://a.b/compute/rest/v1/instances"):
        (tmp_path / "README.md").write_text(f"It is `{said}`.\n")
        p = subprocess.run([sys.executable, ROOT / "tests/lint/docs.py", tmp_path], capture_output=True, text=True)
        assert (p.returncode == 1) == ("the daemon has no route" in p.stdout), p
        bad += [said] if p.returncode else []
    assert bad == ["POST /v1/status", "/v1/nodes/t4-1", "/v1/types", "curl http://127.0.0.1:6590/v1/none", "curl $DAVIT/v1/none", "davit.ray:6590/v1/none."], bad


def test_a_link_leads_to_a_heading(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "docs/cli.md").write_text("# The line\n\n## approve, apply `it`\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n")
    bad = []
    for target in ("docs/cli.md#approve-apply-it", "docs/cli.md#the-line", "docs/cli.md#twice-1", "docs/cli.md#apply", "docs/cli.md#no-heading", "docs/none.md#a", "#here", "#there"):
        (tmp_path / "README.md").write_text(f"# Here\n[it]({target})\n")
        p = subprocess.run([sys.executable, ROOT / "tests/lint/docs.py", tmp_path], capture_output=True, text=True)
        assert (p.returncode == 1) == (f"{target} leads to no heading" in p.stdout), p
        bad += [target] if p.returncode else []
    assert bad == ["docs/cli.md#apply", "docs/cli.md#no-heading", "docs/none.md#a", "#there"], bad


@pytest.mark.parametrize("path", sorted({path for path, _ in version.SAYERS}))
def test_another_version_is_found(tmp_path, path):
    for name in {"Makefile", *(p for p, _ in version.SAYERS)}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert version.main(["", str(tmp_path)]) == 0
    now = next(line.split()[2] for line in (tmp_path / "Makefile").read_text().splitlines() if line.startswith("VERSION := "))
    (tmp_path / path).write_text((tmp_path / path).read_text().replace(now, "9.9.9"))
    assert version.main(["", str(tmp_path)]) == 1


def test_what_is_embedded_is_a_dependency():
    """A source that embeds a file is compiled again when that file changes."""
    makefile = (ROOT / "Makefile").read_text()
    embeds = [p.relative_to(ROOT).with_suffix(".o") for p in (ROOT / "autoscaler").rglob("*.c") if ".incbin" in p.read_text()]
    assert len(embeds) >= 3
    for o in embeds:
        assert re.search(rf"^\$\(B\)/{re.escape(str(o))}: \S", makefile, re.M), o
