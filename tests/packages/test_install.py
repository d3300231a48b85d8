"""`make install` and `make uninstall`, into a folder of the test's; the manual pages; that a build can be repeated to the byte."""
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

from lib import BUILD, ROOT

PAGES = {"davit.1", "davit-run.1", "davit-plan.1", "davit-journal.1", "davit-completion.1"}


def make(*words):
    out = subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True, check=False,
                         env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))})
    assert out.returncode == 0, out.stdout + out.stderr
    return out.stdout


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    dest = tmp_path_factory.mktemp("dest")
    make("install", f"DESTDIR={dest}")
    return dest / "usr/local"


def test_all_of_it_is_there(installed):
    found = set(files(installed))
    assert {"bin/davit", "lib/davit/davit-gke.so", "include/davit/provider.h", "share/pkgconfig/davit.pc", "lib/systemd/system/davit.service",
            "share/davit/catalogue.yaml", "share/bash-completion/completions/davit", "share/zsh/vendor-completions/_davit",
            "share/fish/vendor_completions.d/davit.fish", "share/man/man5/davit.yaml.5", "share/doc/davit/examples/sim.yaml"} <= found
    assert PAGES <= {p.name for p in (installed / "share/man/man1").iterdir()}
    assert "ExecStart=/usr/local/bin/davit" in (installed / "lib/systemd/system/davit.service").read_text()
    for p in installed.rglob("*"):
        assert not p.stat().st_mode & 0o022, f"{p} may be written by others"


def test_it_runs_and_finds_its_plugins_where_it_is(installed):
    out = subprocess.run([installed / "bin/davit", "providers"], capture_output=True, text=True, check=True).stdout
    assert f"{installed}/lib/davit/davit-sim.so" in out
    env = {"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(installed / "share/pkgconfig")}
    assert subprocess.run(["pkg-config", "--modversion", "davit"], capture_output=True, text=True, check=True, env=env).stdout == \
        subprocess.run([installed / "bin/davit", "version"], capture_output=True, text=True, check=True).stdout.split()[1] + "\n"


def test_the_installed_default_is_taken(installed):
    out = subprocess.run([installed / "bin/davit", "validate", installed / "share/doc/davit/examples/davit.yaml"], capture_output=True, text=True, check=False)
    assert out.returncode == 0 and "nothing can be launched" in out.stderr, out.stderr


def test_pages_are_clean(installed):
    pages = sorted(map(str, (installed / "share/man").rglob("*.[15]")))
    out = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *pages], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout
    listed = subprocess.run([installed / "bin/davit", "help"], capture_output=True, text=True, check=True).stdout
    for page in (installed / "share/man/man1").glob("davit-*.1"):
        assert f"  {page.stem.removeprefix('davit-')} " in listed
    shown = subprocess.run(["mandoc", "-T", "ascii", installed / "share/man/man1/davit-request.1"], capture_output=True, text=True, check=True).stdout
    for word in ("--owner NAME", "DAVIT_TOKEN_FILE", "EXIT STATUS", "davit request '{\"GPU\": 1"):
        assert word in "".join(c for i, c in enumerate(shown) if c != "\b" and shown[i + 1:i + 2] != "\b"), word


def test_uninstall_leaves_nothing(tmp_path):
    make("install", f"DESTDIR={tmp_path}", "PREFIX=/opt/x", "PLUGIN_DIR=" + plugin_dir())
    foreign = tmp_path / "opt/x/share/davit/notes"
    foreign.write_text("mine")
    make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt/x", "PLUGIN_DIR=" + plugin_dir())
    assert files(tmp_path) == ["opt/x/share/davit/notes"]
    foreign.unlink()
    make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt/x", "PLUGIN_DIR=" + plugin_dir())
    assert not [p for p in tmp_path.rglob("*") if p.name == "davit" or not p.is_dir()]


def plugin_dir():
    """As the build has it: another one would build anew what others run meanwhile."""
    return "/usr/local/lib/davit"


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def test_a_build_elsewhere_is_the_same(tmp_path):
    """Some objects and a plug-in, in another folder: the same bytes, debug information too.  `make reproducible` compares all."""
    there = tmp_path / "another" / "place"
    there.mkdir(parents=True)
    for name in ("Makefile", "autoscaler", "providers", "configs", "tests", "docs"):
        source = ROOT / name
        shutil.copytree(source, there / name) if source.is_dir() else shutil.copy(source, there)
    same = ["plugins/davit-exec.so", "autoscaler/cli/main.o", "autoscaler/cloud/loader.o", "autoscaler/api/embed.o"]
    out = subprocess.run(["make", "-s", *(f"build/release/{s}" for s in same)], cwd=there, capture_output=True, text=True, check=False,
                         env=dict({k: v for k, v in os.environ.items() if not k.startswith("MAKE")}, CCACHE_DISABLE="1"))
    assert out.returncode == 0, out.stderr
    for s in same:
        assert digest(there / "build/release" / s) == digest(BUILD / s), s
