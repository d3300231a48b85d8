"""The examples in configs/: valid, and the commands at their head run as written."""
import re
import subprocess

import pytest
import yaml

from lib import DAVIT, ROOT
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


CHART = ROOT / "configs/kubernetes/chart/davit/values.yaml"


def davit(*args, cwd=None, expect=0):
    p = subprocess.run([DAVIT, *args], cwd=cwd, capture_output=True, text=True)
    assert p.returncode == expect, p.stdout + p.stderr
    return p.stdout + p.stderr


def test_values_of_the_chart_are_a_configuration(tmp_path):
    """What is under `config`, with the lines of the file; what is beside it is Helm's."""
    davit("validate", CHART)
    (tmp_path / "values.yaml").write_text("image: {repository: registry.example/davit}\nconfig:\n  cluster: prod\n  head: {kubernetes: {}}\n"
                                          "  providers: {gke: {project: p, region: us-central1, cluster: c1}}\n  node_types:\n"
                                          "    t4: {provider: gke, pool: gpu, instance_type: n1-standard-8+t4, max_size: 4}\n")
    said = davit("validate", "values.yaml", cwd=tmp_path, expect=3)
    for word in ('values.yaml:5:41: provider gke has no option "region"; did you mean "location"?',
                 'values.yaml:7:36: unknown key "instance_type" in node_types.t4; did you mean "machine"?',
                 'values.yaml:7:69: unknown key "max_size" in node_types.t4; did you mean "max"?'):
        assert word in said, said
    assert '"image"' not in said and '"config"' not in said, said


def test_what_the_chart_sets_of_the_api_is_the_documented_default():
    """Who reads api.md knows for how long a revoked token counts, also with the chart."""
    ours = yaml.safe_load(CHART.read_text())["api"]["kubernetes"]
    for key in ("audience", "cache"):
        said = davit("config", "explain", f"api.kubernetes.{key}")
        assert re.search(rf"^  default  {ours[key]}$", said, re.M), (key, ours[key], said)


def test_some_have_commands():
    assert {"sim.yaml", "exec.yaml"} <= {n for n, lines in DIALOGUE.items() if lines}
