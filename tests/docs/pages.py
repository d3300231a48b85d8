"""Runs a page: its blocks in order, as printed, in an empty folder, with an
installed tree on PATH.  The first thing that is not as the page says is a
Mistake with the line.
"""
import contextlib
import dataclasses
import json
import pathlib
import shutil
import time
import urllib.request

import aids
import blocks
import configs
import match
from blocks import Mistake
from lib import ROOT, until, without
from shell import PATIENCE, Shell

HIDE = ("DAVIT_", "RAY_", "AWS_", "AZURE_", "GOOGLE_", "GCE_", "CLOUDSDK_", "KUBE")


def environment(tree, folder, path):
    """A login's, and what says where the tree is, which lies in another root."""
    local = tree / "usr/local"
    return {**without(*HIDE), "HOME": str(folder), "PATH": f"{local}/bin:{path}",
            "PKG_CONFIG_PATH": f"{local}/share/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": str(tree), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def ready(address, patience=20):
    """A reader types his next command when the daemon has its first answers of clouds and heads.  One may never be ready."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def answered():
        with contextlib.suppress(OSError):
            opener.open(f"http://{address}/readyz", timeout=patience).close()
            return True
    with contextlib.suppress(AssertionError):
        until(answered, patience)


class Run:
    def __init__(self, path, tree, scratch, search):
        self.path, self.tree, self.scratch, self.search = pathlib.Path(path), tree, scratch, search
        self.not_run, self.ran, self.turn = [], 0, 0
        self.shell, self.aids = None, []

    def where(self, block):
        name = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path.name
        return f"{name}:{block.line}"

    def all(self):
        """Runs the page; Mistake or AssertionError when it is not as it says."""
        page = blocks.Page(self.path.read_text())
        with contextlib.ExitStack() as self.stack:
            self.fresh()
            try:
                for block in page.blocks:
                    self.block(block)
            finally:
                self.shell.close()
        return self

    def fresh(self):
        if self.shell:
            self.shell.close()
        self.turn += 1
        self.folder = self.scratch / f"p{self.turn}"
        self.folder.mkdir()
        self.env = environment(self.tree, self.folder, self.search)
        self.have()
        self.shell = self.open_shell()

    def open_shell(self):
        return Shell(self.folder, self.env)

    def have(self):
        for aid in self.aids:
            self.env.update(aid.env)
            for name in aid.folders:
                shutil.copytree(ROOT / name, self.folder / name, dirs_exist_ok=True)

    def block(self, block):
        try:
            self.one(block)
        except (Mistake, AssertionError) as e:
            raise Mistake(f"{self.where(block)}: {e}") from e

    def one(self, block):
        if "not run" in block.notes:
            if not block.notes["not run"]:
                raise Mistake("`not run` needs its reason")
            self.not_run.append(f"{self.where(block)}: {block.notes['not run']}")
        elif block.language == "with":
            self.aids.append(self.stack.enter_context(aids.AIDS[block.text](self.scratch)))
            self.turn_over()
        elif block.language == "again":
            self.fresh()
        elif block.language == "before":
            for command in blocks.commands(dataclasses.replace(block, language="sh")):
                self.command(command, {})
        else:
            self.shown(block)

    def turn_over(self):
        """The shell anew, with what the page has beside it."""
        self.shell.close()
        self.have()
        self.shell = self.open_shell()

    def shown(self, block):
        self.write(block)
        if block.runs and not block.file:
            found = blocks.commands(block)
            for i, command in enumerate(found):
                last = {k: v for k, v in block.notes.items() if k == "in the checkout" or i == len(found) - 1}
                self.command(command, last)
        elif block.language == "yaml":
            wrong = configs.check(block, self.folder, self.shell)
            if wrong:
                raise Mistake(wrong)
            self.ran += 1
        elif block.language == "json":
            json.loads(block.text)
            self.ran += 1

    def write(self, block):
        """Its file, if it names one."""
        name, mode = (block.notes["part of"], "a") if "part of" in block.notes else (block.file, "w")
        if not name:
            return
        text = block.text
        for aid in self.aids:
            text = aid.rewrite(text)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, mode) as f:
            f.write(text)

    def command(self, command, notes):
        text = f"( cd {ROOT} && HOME={pathlib.Path.home()} && {command.text.rstrip()}\n)" if "in the checkout" in notes else command.text
        end = time.monotonic() + PATIENCE
        while True:
            code, printed = self.shell.run(text)
            if isinstance(printed, pathlib.Path):
                return self.background(command, printed)
            wanted = int(notes.get("exit", 0))
            good = match.matches(command.output, printed) if command.output else True
            if "until" in notes and not (good and code == wanted) and time.monotonic() < end:
                time.sleep(0.3)  # wait: as a reader does who types it again
                continue
            if code != wanted:
                raise Mistake(f"`{command.text}` ended with {code}, not {wanted}:\n{printed}")
            if not good:
                raise Mistake(f"`{command.text}` printed something else:\n{match.difference(command.output, printed)}\n\nin full:\n{printed}")
            self.ran += 1
            return None

    def background(self, command, file):
        """What it is shown to print is waited for, so that the next command finds it at work."""
        try:
            until(lambda: not command.output or match.begins(command.output, file.read_text(errors="replace")), PATIENCE)
        except AssertionError:
            raise Mistake(f"`{command.text}` did not print what is shown:\n{file.read_text(errors='replace')}") from None
        for line in command.output or ():
            if " listening on " in line:
                ready(line.split()[-1])
        self.ran += 1
