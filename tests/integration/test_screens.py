"""What a newcomer and an operator found on the screens, and no incident tells (test_incidents.py): docs/notes/people.md has them all."""
import re
import subprocess

from lib import DAVIT, ROOT
from test_incidents import ask, faults, first, night
from lib.daemon import Daemon


def run(*args, expect=0, cwd=None):
    p = subprocess.run([DAVIT, *args], capture_output=True, text=True, cwd=cwd)
    assert p.returncode == expect, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


def test_clearing_what_is_not_there_is_no_success(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "train", 1)
        shown = d.cli("request", "--owner", "trian", "--clear", expect=1)
        assert "did you mean train?" in shown and "cleared" not in shown.replace("nothing was cleared", ""), shown
        assert [r["owner"] for r in d.status()["requests"]] == ["train"]
        assert "cleared" in d.cli("request", "--owner", "train", "--clear")


def test_problems_stand_where_the_guide_says(tmp_path):
    """operating.md names the line and the kind, for each way in which credentials can be refused."""
    guide = (ROOT / "docs/guides/operating.md").read_text().replace("\n", " ")
    assert "a line that begins with `problem` each" in guide
    assert '`provider_auth` when a launch was refused, and "provider NAME is not ready" when its machines cannot be listed' in guide
    with Daemon(tmp_path, night()) as d:
        faults(d, auth=["launch"])
        ask(d, "train", 1)
        d.until(lambda: any(s["kind"] == "provider_auth" for s in d.status()["stops"]))
        line = d.cli("status").splitlines()[1]
        assert line.startswith("problem ") and line.endswith("(provider_auth)"), line
    (tmp_path / "second").mkdir()
    with Daemon(tmp_path / "second", night()) as d:
        faults(d, auth=["list"])
        d.until(lambda: "provider sim is not ready" in d.cli("status") or d.clocks.ahead(5000))
        lines = d.cli("status").splitlines()
        assert any(line.startswith("problem ") and "provider sim is not ready" in line for line in lines[1:3]), lines


def test_each_alert_has_its_answer_in_the_guide():
    rules = (ROOT / "configs/prometheus/davit.rules.yaml").read_text()
    guide = (ROOT / "docs/guides/operating.md").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) > 20 and set(alerts) == set(re.findall(r"`(Davit\w+)`", guide))


HOLDS_ITS_WORD = {"approve", "apply", "release", "adopt", "forget"}  # what waits for a person's word is held


def test_held_is_what_waits_for_a_person_and_nothing_else(tmp_path):
    """Neither a node that a request counts on, nor a bundle, nor a type that is not bought."""
    with Daemon(tmp_path, night(most=1)) as d:
        ask(d, "train", 2)
        d.until(lambda: d.ready("t4") == 1)
        node = d.nodes("t4")[0]["id"]
        for args in (["status"], ["nodes"], ["nodes", "--wide"], ["top", "--once"], ["why", node], ["why", "train"], ["why", "t4"], ["cost"]):
            assert not re.search(r"\bheld\b", d.cli(*args)), (args, d.cli(*args))
        assert "asked for" in d.cli("status") and "asked for" in d.cli("top", "--once")
    for command in re.findall(r"^  ([a-z]+)  ", run("--help"), re.M):
        text = run("help", command) if command not in HOLDS_ITS_WORD | {"help"} else ""
        said = [line for line in text.splitlines() if re.search(r"\bheld\b", line) and "asked for" not in line and "--state " not in line]
        assert not said, (command, said)


def test_of_22_owners_the_one_that_waits_is_first(tmp_path):
    """And the others as people count."""
    with Daemon(tmp_path, night()) as d:
        for i in range(1, 22):
            ask(d, f"team-{i}", 1, {"CPU": 0.1})
        ask(d, "odd", 1, {"GPU": 1, "accelerator_type": "T44"})
        d.until(lambda: sum(r["satisfied"] for r in d.status()["requests"]) == 21)
        lines = d.cli("status").splitlines()
        assert "odd" in lines[1] and [line for line in lines if "odd" in line] == [lines[1]], lines
        served = [line for line in lines if "are satisfied" in line]
        assert served == ["21 requests are satisfied: " + ", ".join(f"team-{i}" for i in range(1, 9)) + " and 13 more"], lines


ONE = """
cluster: one
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 2s, think: 0}
providers: {sim: {state: "{dir}/cloud.json", boot: 300ms}}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.7, max: 1}
"""


def test_one_is_one(tmp_path):
    """No "1 nodes", "1 bundles", "1 warnings" on any screen."""
    with Daemon(tmp_path, ONE) as d:
        wrong = re.compile(r"(?<!of )\b1 (nodes|bundles|warnings|machines|requests|problems|providers|tasks|types)\b")
        assert not wrong.search(d.cli("request", "--owner", "a", "--dry-run", "GPU=1"))
        shown = [d.cli("request", "--owner", "a", "GPU=1")]
        d.until(lambda: d.ready() == 1)
        shown += [d.cli(*args) for args in (["status"], ["nodes"], ["top", "--once"], ["why", "a"], ["why", "t4"], ["cost"], ["events"])]
        for text in shown:
            assert not wrong.search(text), text
    (tmp_path / "warned.yaml").write_text(ONE.replace("{dir}", ".").replace("{port}", "0").replace("max: 1", "max: 1, boot: 2h"))
    assert "1 node type" in (out := run("validate", "warned.yaml", cwd=tmp_path)) and not wrong.search(out), out


def test_words_of_other_programs(tmp_path):
    """A region is gke's location; a limit, an option and a market by the names that others have for them."""
    for text, meant in ((ONE.replace("think: 0", "max_cost: 3"), "max_cost_per_hour"),
                        (ONE.replace("sim: {", "gke: {region: us-central1, project: p, cluster: c}, sim: {"), "location"),
                        (ONE.replace("max: 1", "max: 1, max_workers: 2"), "max"),
                        (ONE.replace("max: 1", "max: 1, preemptible: true"), "market")):
        (tmp_path / "other.yaml").write_text(text.replace("{dir}", ".").replace("{port}", "0"))
        assert f'did you mean "{meant}"?' in (out := run("validate", "other.yaml", expect=3, cwd=tmp_path)), out


def test_products_in_the_place_of_gpus(tmp_path):
    """Also of a product that no node type has: it is one."""
    with Daemon(tmp_path, night()) as d:
        for bundle, meant in (("T4=1", "GPU with accelerator_type=T4"), ("A100=8", "GPU with accelerator_type=A100"),
                              ("GPU=1,accelerator_type=A-100", "A100")):
            assert f"did you mean {meant}?" in d.cli("request", "--owner", "x", bundle, expect=1), bundle
        for bundle in ("accelerator=A100", "GPU=1,gpu_type=T4"):
            assert 'did you mean "accelerator_type"?' in d.cli("request", "--owner", "x", bundle, expect=3, stream="stderr"), bundle


def test_a_program_that_is_not_there_is_one_line(tmp_path):
    """On-premise, with a wrong path: said once, with what is wrong."""
    (tmp_path / "own.yaml").write_text("cluster: own\nproviders: {own: {plugin: exec, command: [./nowhere]}}\n"
                                       "node_types:\n  box: {resources: {CPU: 8}, price: 0, max: 2}\n")
    p = subprocess.run([DAVIT, "doctor", "own.yaml"], capture_output=True, text=True, cwd=tmp_path)
    said = [line for line in p.stdout.splitlines() if "nowhere" in line or "provider" in line and not line.startswith("ok")]
    assert p.returncode == 1 and len(said) == 1 and said[0].startswith("bad ") and "cannot run ./nowhere" in said[0], p.stdout


def test_a_protected_node_says_so_while_it_is_needed(tmp_path):
    with Daemon(tmp_path, night()) as d:
        ask(d, "ann", 1)
        d.until(lambda: d.ready("t4") == 1)
        name = d.nodes("t4")[0]["id"]
        assert "unprotect" not in d.cli("why", name)
        d.cli("protect", name)
        assert f"`davit unprotect {name}`" in d.cli("why", name)
        assert "ready" in first(d, "why", name)
