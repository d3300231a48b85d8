"""The completions in real shells: what `davit completion SHELL` prints, sourced, and the Tab key pressed."""
import os
import pathlib
import subprocess

import pytest

from lib import BUILD, DAVIT
from lib.daemon import Daemon
from packages.shells import Shell

CONFIG = """
cluster: it
api: {listen: "127.0.0.1:{port}"}
state: davit.db
providers: {sim: {}}
node_types:
  lonely: {provider: sim, machine: e2-standard-8, min: 1, max: 4, boot: 1s, options: {boot: 300ms}}
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Daemon(tmp_path_factory.mktemp("d"), CONFIG) as d:
        d.until(lambda: d.ready() == 1)
        d.post({"owner": "zoe", "bundles": [{"CPU": 1}]})
        d.post({"owner": "team:a", "bundles": [{"CPU": 1}]})
        yield d


def fits(*words, env=None):
    """What `davit __complete` says, by its candidates."""
    out = subprocess.run([DAVIT, "__complete", "--", *words], capture_output=True, text=True, check=True, env=dict(os.environ, **(env or {})))
    return [line.split("\t")[0] for line in out.stdout.splitlines()]


def test_what_fits_is_what_the_tables_say(daemon):
    assert "status" in fits("") and "help" in fits("") and "__man" not in fits("")
    assert fits("va") == ["validate"]
    assert fits("journal", "") == ["check", "export", "forget", "backup", "restore"]
    assert fits("help", "journal", "ch") == ["check"]
    assert fits("help", "plan", "--b") == []
    assert fits("plan", "--b") == ["--budget"]
    assert fits("plan", "--budget", "") == []
    assert fits("plan", "") == [":file"]
    assert fits("plan", "-") == ["--request", "--set", "--budget", "--json"]
    assert fits("plan", "-r") == []
    assert fits("plan", "-r", "x", "--", "-") == [":file"]
    assert fits("plan", "one.json", "") == []
    assert fits("providers", "") == [":folder"]
    assert fits("request", "--strategy", "S") == ["SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
    assert fits("request", "--strategy=P") == ["--strategy=PACK"]
    assert fits("request", "-cs", "P") == ["PACK"]
    assert fits("completion", "") == ["bash", "zsh", "fish"]
    assert fits("config", "explain", "limits.idle_timeo")[:2] == ["limits.idle_timeout", "limits.idle_timeouts"]
    assert fits("nonsense", "") == []
    assert fits() == fits("")


def test_names_come_from_the_daemon(daemon):
    env = {"DAVIT_URL": daemon.url}
    node = daemon.nodes()[0]["id"]
    assert fits("request", "--owner", "z", env=env) == ["zoe"]
    assert fits("request", "--owner=", env=env) == ["--owner=team:a", "--owner=zoe"]
    assert fits("adopt", "", env=env) == [node]
    assert {node, "zoe"} <= set(fits("why", "", env=env))
    assert fits("why", "--url", daemon.url, "zo") == ["zoe"]
    assert fits("why", f"--url={daemon.url}", "zo") == ["zoe"]


def test_no_daemon_is_no_error_and_takes_no_time(daemon):
    assert fits("why", "", env={"DAVIT_URL": "http://127.0.0.1:9"}) == []


@pytest.fixture
def where(tmp_path, daemon):
    """A folder with davit on PATH and files to complete."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "davit").symlink_to(pathlib.Path(DAVIT).resolve())
    (tmp_path / "work" / "sub folder").mkdir(parents=True)
    (tmp_path / "work" / "my settings.yaml").write_text("")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "vt100", "LANG": "C.UTF-8",
           "DAVIT_URL": daemon.url, "PS1": "$ "}
    return tmp_path / "work", env


def script(shell, to):
    to.write_text(subprocess.run([DAVIT, "completion", shell], capture_output=True, text=True, check=True).stdout)
    return to


def walk(s):
    """What all three shells do."""
    for typed, shown in [("davit stat\t", "davit status"),
                         ("davit plan --bud\t", "davit plan --budget"),
                         ("davit journal ch\t", "davit journal check"),
                         ("davit request --owner z\t", "--owner zoe"),
                         ("davit request --owner=z\t", "--owner=zoe"),
                         ("davit validate my\t", r"my\\ settings\.yaml"),
                         ("davit providers su\t", r"sub\\ folder/"),
                         ("davit journal \t\t", r"(?s)check.*export.*forget|backup.*export")]:
        s.type(typed)
        s.sees(shown)
        s.clear()


def test_bash(where):
    folder, env = where
    rc = folder.parent / "rc"
    rc.write_text(f"PS1='$ '\nsource {script('bash', folder.parent / 'davit.bash')}\n")
    with Shell(["bash", "--rcfile", str(rc), "-i"], env, folder) as s:
        s.sees(r"\$ ")
        walk(s)
        s.type("davit request --owner=te\t")
        s.sees(r"--owner=team\\?:a")
        s.clear()
        s.type("davit --url=http\t")  # nothing fits, nothing is broken
        s.clear()


def test_zsh_as_a_function_of_the_path(where):
    folder, env = where
    functions = folder.parent / "functions"
    functions.mkdir()
    script("zsh", functions / "_davit")
    (folder.parent / ".zshrc").write_text(f"PS1='$ '\nunsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste\nfpath=({functions} $fpath)\nautoload -U compinit; compinit -u -D\n")
    with Shell(["zsh", "-d", "-i"], env, folder) as s:
        s.sees(r"\$ ")
        walk(s)


def test_fish(where):
    """fish says itself what it would show."""
    folder, env = where
    made = script("fish", folder.parent / "davit.fish")

    def shown(line):
        out = subprocess.run(["fish", "--no-config", "-c", f"source {made}; complete -C '{line}'"], cwd=folder, env=env, capture_output=True, text=True, check=True)
        return [c.split("\t")[0] for c in out.stdout.splitlines()]

    assert shown("davit stat") == ["status"]
    assert shown("davit plan --bud") == ["--budget"]
    assert shown("davit journal ") == ["backup", "check", "export", "forget", "restore"]
    assert shown("davit request --owner z") == ["zoe"]
    assert shown("davit request --owner=z") == ["--owner=zoe"]
    assert shown("davit validate my") == ["my settings.yaml"]
    assert shown("davit providers su") == ["sub folder/"]


def test_the_scripts_are_clean():
    for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        text = subprocess.run([DAVIT, "completion", shell], capture_output=True, text=True, check=True).stdout
        assert subprocess.run(check, input=text, text=True, capture_output=True, check=False).returncode == 0, shell
