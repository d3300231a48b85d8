"""Did you mean: each word that Davit knows, with one letter wrong, is answered with a word that it knows and that is as near:
commands, options, values, options of providers, fields of requests, accelerators."""
import json
import random
import re
import subprocess

import pytest

from lib import DAVIT, ROOT
from lib.daemon import Daemon
from lib.seeds import seed

SHORTEST = 5  # of a shorter word a letter is too much
MEANT = re.compile(r"did you mean (.*?)\?")


def wrong(r, word):
    """A letter is missing, there twice, or in its neighbour's place; the first one stays."""
    i = r.randrange(1, len(word) - 1)
    return r.choice([word[:i] + word[i + 1:], word[:i] + word[i] + word[i:], word[:i] + word[i + 1] + word[i] + word[i + 2:]])


def misspelt(words):
    r = random.Random(seed())
    for word in sorted(w for w in words if len(w) >= SHORTEST and re.fullmatch(r"[\w.-]+", w)):
        other = next((w for w in (wrong(r, word) for _ in range(50)) if w not in words), None)
        if other:
            yield word, other


def answered(text, words, word, other):
    meant = [m.strip('\\"').lstrip("-") for m in MEANT.findall(text)]
    assert meant, f"{other} for {word}: nothing was meant:\n{text}"
    assert all(m in words for m in meant), f"{other} for {word}: {meant}"


def run(*args, expect=2, cwd=None):
    p = subprocess.run([DAVIT, *args], capture_output=True, text=True, cwd=cwd)
    assert p.returncode == expect, (args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


def commands():
    return set(re.findall(r"^  ([a-z]+)  ", run("--help", expect=0), re.M))


def test_commands():
    words = commands()
    assert {"request", "status", "approve", "simulate"} <= words
    for word, other in misspelt(words):
        answered(run(other), words, word, other)


def test_commands_of_other_programs():
    """Each is answered with what does it here: commands that there are, and never with one that lets machines go."""
    source = (ROOT / "autoscaler/cli/line/others.c").read_text()
    words = " ".join(re.findall(r'^    \{" ([a-z -]+) "', source, re.M)).split()
    assert len(words) > 50 and len(set(words)) == len(words) and not set(words) & set(commands())
    for word in words:
        text = run(word)
        said = re.findall(r"`davit ([\w-]+)[^`]*`", text)
        assert f'there is no command "{word}": ' in text and said, text
        assert set(said) <= set(commands()) - {"release", "adopt", "apply", "forget", "approve"}, text
    assert "did you mean" not in run("clear", "train") and "--owner NAME --clear" in run("delete", "train")


def test_options_of_commands():
    for command in sorted(commands() - {"help"}):
        text = run(command, "--help", expect=0)
        words = set(re.findall(r"--([a-z-]+)", text))
        for word, other in misspelt(set(re.findall(r"^  (?:-\w, |    )?--([a-z-]+)", text, re.M))):
            if not any(w.startswith(other) for w in words):  # the beginning of an option stands for it
                answered(run(command, "--" + other), words, word, other)


@pytest.mark.parametrize("args, words", [
    (["cost", "--by"], {"owner", "type", "market"}), (["nodes", "--state"], {"starting", "ready", "draining", "stopping"}),
    (["request", "GPU=1", "--strategy"], {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"})], ids=["by", "state", "strategy"])
def test_values(args, words):
    for word, other in misspelt(words):
        answered(run(*args, other), words | {"busy", "held", "idle"}, word, other)


def test_options_of_providers(tmp_path):
    """All of a plug-in's in one file: each line of the answer is of one."""
    for p in json.loads(run("providers", "--json", expect=0)):
        words = {w for w in p["options"] if not w.startswith("types.") and not w.endswith("*")}
        pairs = dict((other, word) for word, other in misspelt(w for w in words if "." not in w))
        if not pairs:
            continue
        (tmp_path / "x.yaml").write_text(f"cluster: x\nproviders:\n  {p['name']}:\n" + "".join(f"    {k}: 1\n" for k in pairs) + "node_types: {}\n")
        out = run("validate", "x.yaml", expect=3, cwd=tmp_path)
        for other, word in pairs.items():
            mine = [line for line in out.splitlines() if other in line]
            answered("\n".join(mine) or out, words | {"plugin", "ca_file"}, word, other)


def test_accelerators(tmp_path):
    names = {"A100", "V100", "H100", "A10G", "P100"}
    for name in sorted(names):
        other = name[:-2] + "-" + name[-2:]
        (tmp_path / "x.yaml").write_text(f"cluster: x\nproviders: {{sim: {{}}}}\nnode_types:\n  g: {{resources: {{GPU: 1}}, accelerator_type: {other}, price: 1, max: 1}}\n")
        answered(run("validate", "x.yaml", expect=0, cwd=tmp_path), names, name, other)


def test_fields_of_requests(tmp_path):
    api = json.loads((ROOT / "docs/openapi.json").read_text())
    body = api["paths"]["/v1/request_resources"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    words = set(api["components"]["schemas"][body["$ref"].split("/")[-1]]["properties"])
    assert {"owner", "bundles", "priority"} <= words
    with Daemon(tmp_path, 'cluster: x\napi: {listen: "127.0.0.1:{port}"}\nstate: "{dir}/s.db"\nproviders: {sim: {state: "{dir}/c.json"}}\n'
                          "node_types:\n  cpu: {resources: {CPU: 1}, price: 1, max: 1}\n") as d:
        for word, other in misspelt(words):
            code, reply = d.call("POST", "/v1/request_resources", {"bundles": [{"CPU": 1}], other: 1})
            assert code == 400, reply
            answered(json.dumps(reply), words, word, other)
