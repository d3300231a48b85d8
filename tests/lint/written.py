#!/usr/bin/env python3
"""A file is opened for writing in one place: base/outfile.c, which follows no link.
Nor is a file's mode or owner changed by its name.

Plug-ins cannot see it: theirs say O_NOFOLLOW themselves.

usage: written.py [ROOT]
"""
import os
import re
import sys

import objects

ONE = "autoscaler/base/outfile.c"
# Opened by posix_spawn or by a path of the kernel's own: the reason.
CALL = re.compile(r"\b(?:open|openat)\s*\((?:[^()]|\([^()]*\))*\)", re.S)
STREAM = re.compile(r"\b(?:fopen|freopen)\s*\((?:[^()]|\([^()]*\))*,\s*\"[wa]", re.S)
BY_NAME = re.compile(r"\b(?:chmod|chown|lchown)\s*\(")
OTHER = re.compile(r"\b(?:creat|mkstemp|mkostemp|tmpfile)\s*\(")
WRITES = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")


def main(argv):
    root, bad, n = objects.root_of(argv), [], 0
    for source in objects.sources(root, "autoscaler", "providers"):
        if source == ONE:
            continue
        with open(os.path.join(root, source)) as f:
            text = f.read()
        plugin = source.startswith(("providers/", "autoscaler/kit/"))
        for call in BY_NAME.finditer(text):
            line = text.count("\n", 0, call.start()) + 1
            bad.append(f"{source}:{line}: changes what lies at a path, which may be a link by now: by its descriptor")
        for call in CALL.finditer(text):
            if not WRITES.search(call.group()):
                continue
            n += 1
            line = text.count("\n", 0, call.start()) + 1
            if not plugin:
                bad.append(f"{source}:{line}: opens a file for writing: base/outfile.h does")
            elif "O_NOFOLLOW" not in call.group():
                bad.append(f"{source}:{line}: opens a file for writing without O_NOFOLLOW")
        for call in [*STREAM.finditer(text), *OTHER.finditer(text)]:
            line = text.count("\n", 0, call.start()) + 1
            bad.append(f"{source}:{line}: opens a file for writing: " + ("open() with O_NOFOLLOW" if plugin else "base/outfile.h does"))
    return objects.report("written", bad, f"{n} files of plug-ins, all others by {ONE}")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
