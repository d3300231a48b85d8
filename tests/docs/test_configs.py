"""The examples in configs/: valid, and the commands at their head run as written."""
import re
import subprocess

import pytest

from lib import ROOT
from pages import Run, environment

CONFIGS = sorted(p.name for p in (ROOT / "configs").glob("*.yaml"))
DIALOGUE = {name: re.findall(r"^#   (\$ .*)$", (ROOT / "configs" / name).read_text(), re.M) for name in CONFIGS}


@pytest.mark.parametrize("name", [n for n in CONFIGS if n != "accelerators.yaml"])
def test_it_is_valid(name, tree, search, tmp_path):
    p = subprocess.run(["davit", "validate", ROOT / "configs" / name], env=environment(tree, tmp_path, search), capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


@pytest.mark.parametrize("name", [n for n, lines in DIALOGUE.items() if lines])
def test_the_commands_at_its_head(name, tree, search, tmp_path):
    page, scratch = tmp_path / "page.md", tmp_path / "scratch"
    scratch.mkdir()
    lines = [line + ("\n...\n2026-11-22T14:21:34.866Z info  listening on 127.0.0.1:8790\n..." if "&" in line else "") for line in DIALOGUE[name]]
    page.write_text("<!-- docs: with checkout -->\n\n```console\n" + "\n".join(lines) + "\n```\n")
    assert Run(page, tree, scratch, search).all().ran == len(DIALOGUE[name])


def test_some_have_commands():
    assert {"sim.yaml", "exec.yaml"} <= {n for n, lines in DIALOGUE.items() if lines}
