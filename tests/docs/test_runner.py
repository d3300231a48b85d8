"""The runner itself: what it must refuse, for a page that cannot fail proves nothing."""
import re

import pytest

import match
import shell
from blocks import Mistake, Page, commands
from pages import Run


def run(tmp_path, tree, search, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Run(page, tree, scratch, search).all()


@pytest.mark.parametrize("text, why", [
    ("```console\n$ false\n```\n", "ended with 1, not 0"),
    ("```sh\nfalse\ntrue\n```\n", "ended with 1, not 0"),
    ("```console\n$ echo a\nb\n```\n", "printed something else"),
    ("<!-- docs: exit 3 -->\n```console\n$ true\n```\n", "ended with 0, not 3"),
    ("```yaml\nlimits: {max_noodles: 3}\n```\n", "max_noodles"),
    ("```yaml davit.yaml\nlimits: {max_nodes: 3}\n```\n", "cluster is missing"),
    ("```yaml\nfoo: 1\n```\n", "no configuration"),
    ("```yaml\nlimits: {...}\n```\n", "write it out"),
    ("```json\n{\"a\": }\n```\n", "Expecting value"),
    ("text\n\n    davit status\n", "indented block with commands"),
    ("<!-- docs: not run: -->\n```sh\nfalse\n```\n", "needs its reason"),
    ("<!-- docs: unless -->\n```sh\nfalse\n```\n", "unknown note"),
    ("<!-- docs: until -->\ntext\n", "above no block"),
    ("```console\ndavit status\n```\n", "begins with `$ `"),
])
def test_a_wrong_page_is_refused(tmp_path, tree, search, text, why):
    with pytest.raises((Mistake, ValueError), match=re.escape(why)):
        run(tmp_path, tree, search, text)


def test_what_is_not_run_is_told(tmp_path, tree, search):
    told = run(tmp_path, tree, search, "<!-- docs: not run: needs an account -->\n```sh\nfalse\n```\n")
    assert (told.ran, told.not_run) == (0, ["page.md:2: needs an account"])


def test_commands_share_a_shell_and_a_folder(tmp_path, tree, search):
    text = """<!-- docs: before
mkdir sub
-->
```yaml sub/davit.yaml
cluster: a
node_types: {cpu: {resources: {CPU: 1}, max: 1}}
```

```console
$ cd sub && export WHO=me
$ davit validate davit.yaml
davit.yaml: valid (davit), 1 node type, ...
$ echo "$WHO" 'two
lines'
me two
lines
$ cat > x <<'EOF'
a
EOF
$ cat x
a
```

<!-- docs: again -->

```console
$ ls | wc -l
0
```
"""
    assert run(tmp_path, tree, search, text).ran == 8


def test_a_background_job_is_waited_for_and_ended(tmp_path, tree, search):
    text = "```console\n$ (sleep 0.5; echo up; exec sleep 1000) &\nup\n$ echo next\nnext\n```\n"
    assert run(tmp_path, tree, search, text).ran == 2
    assert not shell.Shell.left(type("any", (), {"mark": "RAY_DOCS_PAGE", "sessions": set()})), "something is left"


def test_a_command_is_run_until_its_output_comes(tmp_path, tree, search):
    text = "<!-- docs: until -->\n```console\n$ echo >> n; wc -l < n\n3\n```\n"
    assert run(tmp_path, tree, search, text).ran == 1


def test_console_blocks_are_cut_into_commands():
    page = Page("```console\n$ a \\\n  b\n$ cat <<E\nx\nE\nout\n\n$ c\n```\n")
    assert [(c.text, c.output) for c in commands(page.blocks[0])] == [("a \\\n  b", None), ("cat <<E\nx\nE", ["out"]), ("c", None)]


@pytest.mark.parametrize("page, came, same", [
    ("a  b", "a b\n", True),
    ("a b", "a c\n", False),
    ("a 5s", "a 1m30s\n", True),
    ("a 5s", "a 5\n", False),
    ("t4-433d164e-0 up", "t4-0a0a0a0a-1 up\n", True),
    ("t4-433d164e-0 up", "cpu-1 up\n", False),
    ("$1.46/h ...", "$1.46/h and more\n", True),
    ("$1.46/h", "$1.47/h\n", False),
    ("a\n...\nb", "a\nx\ny\nb\n", True),
    ("a\n...\nb", "a\nx\n", False),
    ("2026-11-22T14:21:34.866Z info", "2027-01-01T00:00:00.000Z info\n", True),
    ('{"a": 1,\n "b": ...}', '{"a":1,"b":[2]}\n', True),
    ('{"a": 1}', '{"a":2}\n', False),
])
def test_output_is_compared_by_what_stays(page, came, same):
    assert match.matches(page.split("\n"), came) == same
