"""Whose plug-ins run: what a file brings is not loaded by `validate`, and nobody
loads what others could have written."""
import os
import shutil
import subprocess

import pytest
from lib import BUILD, DAVIT, PATIENCE, ROOT, without

CONFIG = """cluster: c
%s
node_types: {t: {provider: mine, resources: {CPU: 1}, max: 1}}
"""


@pytest.fixture(scope="session")
def early():
    """A plug-in that leaves a file as soon as any of its code runs."""
    so = BUILD / "tests" / "plugins" / "davit-early.so"
    subprocess.run(["make", "-s", str(so.relative_to(ROOT))], cwd=ROOT, check=True)
    return so


def run(*args, **env):
    return subprocess.run([DAVIT, *args], capture_output=True, text=True, timeout=PATIENCE, env={**without("DAVIT_"), **env})


@pytest.mark.parametrize("how", ["path", "plugin_dir"])
def test_validate_loads_no_code_that_the_file_brings(tmp_path, early, how):
    folder = tmp_path / "theirs"
    folder.mkdir()
    shutil.copy(early, folder / "davit-mine.so")
    conf = tmp_path / "davit.yaml"
    conf.write_text(CONFIG % (f"providers: {{mine: {{plugin: {folder}/davit-mine.so}}}}" if how == "path" else
                              f"plugin_dir: {folder}\nproviders: {{mine: {{}}}}"))
    left = tmp_path / "left"
    p = run("validate", str(conf), DAVIT_EARLY=str(left))
    assert p.returncode == 0 and "--plugins" in p.stderr, p
    assert not left.exists()
    p = run("validate", "--plugins", str(conf), DAVIT_EARLY=str(left))
    assert p.returncode != 0 and "is built for plug-in ABI v2, this daemon speaks v1" in p.stderr, p
    assert not left.exists(), "its ABI is known before its code runs"


def test_plan_loads_none_either(tmp_path, early):
    folder = tmp_path / "theirs"
    folder.mkdir()
    shutil.copy(early, folder / "davit-mine.so")
    conf = tmp_path / "davit.yaml"
    conf.write_text(CONFIG % f"providers: {{mine: {{plugin: {folder}/davit-mine.so}}}}")
    p = run("plan", str(conf), DAVIT_EARLY=str(tmp_path / "left"))
    assert p.returncode == 0, p
    assert not (tmp_path / "left").exists()


@pytest.mark.parametrize("mode, folder_mode", [(0o666, 0o755), (0o664, 0o755), (0o644, 0o777), (0o644, 0o775)])
def test_nobody_loads_what_others_can_write(tmp_path, mode, folder_mode):
    folder = tmp_path / "open"
    folder.mkdir()
    so = folder / "davit-sim.so"
    shutil.copy(BUILD / "plugins" / "davit-sim.so", so)
    os.chmod(so, mode)
    os.chmod(folder, folder_mode)
    for command in (("providers", str(folder)), ("run", str(tmp_path / "davit.yaml")), ("doctor", str(tmp_path / "davit.yaml"))):
        (tmp_path / "davit.yaml").write_text(CONFIG % f"providers: {{mine: {{plugin: {so}}}}}\nstate: {tmp_path}/x.db\n"
                                             "api: {listen: '127.0.0.1:0'}")
        p = run(*command)
        assert p.returncode != 0 and "can be written by others" in p.stdout + p.stderr, (command, p)
