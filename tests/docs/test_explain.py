"""`davit config explain`: every key, with an example that `davit validate` takes."""
import json
import subprocess

import pytest
import yaml

import configs
from lib import DAVIT


def explain(*words):
    return subprocess.run([DAVIT, "config", "explain", *words], capture_output=True, text=True)


KEYS = json.loads(explain("--json").stdout)


def at(value, path):
    """What a key of the document names in a parsed example; KeyError: nothing."""
    for part in path.split("."):
        if part == "NAME":
            value = next(iter(value.values()))
        else:
            value = value[part.removesuffix("[]")]
            value = value[0] if part.endswith("[]") else value
    return value


def test_all_keys_are_there():
    assert len({k["key"] for k in KEYS}) == len(KEYS) >= 90
    assert all(k["takes"] and k["meaning"] and k["example"] for k in KEYS)


@pytest.mark.parametrize("key", KEYS, ids=[k["key"] for k in KEYS])
def test_the_example_shows_the_key(key):
    parsed = yaml.safe_load(key["example"])
    try:
        assert at(parsed, key["key"]) is not None
    except KeyError:
        pytest.fail(f"{key['key']} is not in its example: {key['example']}")


def test_the_examples_are_valid(tmp_path):
    """All in one run; files that an example names are made, and a pod's service account."""
    for name in ("token", "ray", "tokens", "tls.crt", "tls.key", "ca.crt", "machines.yaml"):
        (tmp_path / name).write_text("schema: davit-catalogue/1\n" if name.endswith("yaml") else "a-secret-token\n")
        (tmp_path / name).chmod(0o600)
    files = []
    for key in KEYS:
        text = key["example"]
        for where in ("/etc/davit", "/run/secrets", "/run/davit", "/var/log/davit", "/var/lib/davit"):
            text = text.replace(where, str(tmp_path))
        path = tmp_path / f"{len(files)}.yaml"
        path.write_text(yaml.safe_dump(configs.whole(yaml.safe_load(text)), sort_keys=False))
        files.append(path)
    p = subprocess.run([DAVIT, "validate", *files], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


def test_a_last_part_names_all_places():
    got = [line for line in explain("idle_timeout").stdout.split("\n") if line and line[0] != " "]
    assert got == ["limits.idle_timeout", "limits.idle_timeouts[].idle_timeout", "node_types.NAME.idle_timeout"]


def test_a_type_of_ones_own_stands_for_NAME():
    assert explain("node_types.my-t4.max").stdout.startswith("node_types.NAME.max\n")


def test_a_mapping_shows_what_is_in_it():
    assert "api.tls.cert" in explain("api.tls").stdout


def test_an_unknown_key_names_the_nearest():
    p = explain("limits.max_node")
    assert (p.returncode, p.stdout) == (1, "") and "did you mean limits.max_nodes?" in p.stderr
