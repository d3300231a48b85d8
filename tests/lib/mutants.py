"""A mutant: one text of a source, or several, stands in the place of another, in a copy of the tree.  Tests must show it."""
import contextlib
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*command, cwd, **env):
    return subprocess.run([str(c) for c in command], cwd=cwd, env=dict(os.environ, **env), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)


@contextlib.contextmanager
def copy_of(root=ROOT):
    """A folder with the files of a checkout as they are now; it goes with the block."""
    with tempfile.TemporaryDirectory(prefix="davit-mutants") as tree:
        for path in run("git", "ls-files", "-co", "--exclude-standard", cwd=root).stdout.splitlines():
            if os.path.isfile(os.path.join(root, path)):
                os.makedirs(os.path.join(tree, os.path.dirname(path)), exist_ok=True)
                shutil.copy2(os.path.join(root, path), os.path.join(tree, path))
        yield tree


def mutated(tree, path, old, new):
    """(the file as it is, as the mutant has it, "" or why it cannot be made).  old, new: texts, or tuples of them."""
    with open(os.path.join(tree, path), encoding="utf-8") as f:
        text = f.read()
    result = text
    for a, b in zip(old, new) if isinstance(old, tuple) else [(old, new)]:
        if text.count(a) != 1:
            return text, text, f"{path} has its text {text.count(a)} times, not once"
        result = result.replace(a, b)
    return text, result, ""


def put(tree, path, text):
    with open(os.path.join(tree, path), "w", encoding="utf-8") as f:
        f.write(text)


@contextlib.contextmanager
def made(tree, path, old, new):
    """The mutant is there within the block, which is given "" or why it cannot be made."""
    text, changed, why = mutated(tree, path, old, new)
    put(tree, path, changed)
    try:
        yield why
    finally:
        put(tree, path, text)


def check(mutants):
    """(name, path, old, new) of each: says whose text is not there; True: some is not."""
    wrong = [f"{name}: {why}" for name, path, old, new in mutants if (why := mutated(ROOT, path, old, new)[2])]
    print("\n".join(wrong + [f"{len(mutants) - len(wrong)} of {len(mutants)} mutants can be made"]))
    return bool(wrong)
