#!/usr/bin/env python3
"""The software bill of materials of a build, as SPDX 2.3 JSON on standard output.

    configs/sbom.py VERSION [--static NAME=VERSION=ARCHIVE]... FILE...      FILE: the program and its plug-ins

--static: a GNU library whose code is in the program itself; ARCHIVE: the .a that it was linked from.

What each file is linked with is asked of the loader (ldd), and which Debian package a library came from, of dpkg.  The
time is SOURCE_DATE_EPOCH or that of the newest file, so that the same build gives the same text.
Format: spdx.github.io/spdx-spec/v2.3.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys


def libraries(path):
    """Absolute paths of the libraries that a file is loaded with."""
    out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return {os.path.realpath(p) for p in re.findall(r"(/\S+) \(0x", out)}


def package(library):
    """(name, version, source, architecture), or None for a library of nobody's."""
    for path in (library, library.removeprefix("/usr"), "/usr" + library):
        found = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            lines = [x for x in found.stdout.splitlines() if "diversion by " not in x.split(": ")[0]]
            if not lines:
                continue
            name = lines[0].split(": ")[0].split(",")[0]
            shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package} ${Architecture}", name],
                                   capture_output=True, text=True, check=True).stdout
            return tuple(shown.split())
    return None


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("version")
    args.add_argument("paths", nargs="+")
    args.add_argument("--static", action="append", default=[])
    args = args.parse_args()
    version, paths = args.version, sorted(args.paths, key=os.path.basename)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or max(os.stat(p).st_mtime for p in paths))
    whole = hashlib.sha256("".join(sha256(p) for p in paths).encode()).hexdigest()
    files, packages, relations = [], {}, [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-davit")]
    for path in paths:
        mine = spdx_id("File-" + os.path.basename(path))
        files.append({"SPDXID": mine, "fileName": "./" + os.path.basename(path), "licenseConcluded": "NOASSERTION",
                      "copyrightText": "NOASSERTION", "checksums": [{"algorithm": "SHA256", "checksumValue": sha256(path)}]})
        relations.append(("SPDXRef-davit", "CONTAINS", mine))
        for found in filter(None, map(package, libraries(path))):
            packages[found] = spdx_id("Package-" + found[0])
            relations.append((mine, "DYNAMIC_LINK", packages[found]))
    listed = [{"SPDXID": "SPDXRef-davit", "name": "davit", "versionInfo": version, "downloadLocation": "NOASSERTION",
               "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
               "copyrightText": "NOASSERTION"}]
    for name, number, archive in (x.split("=", 2) for x in args.static):
        listed.append({"SPDXID": spdx_id("Static-" + name), "name": name, "versionInfo": number, "supplier": "Organization: GNU",
                       "downloadLocation": f"https://ftp.gnu.org/gnu/{name}/{name}-{number}.tar.gz", "filesAnalyzed": False,
                       "licenseConcluded": "NOASSERTION", "licenseDeclared": "LGPL-2.1-or-later", "copyrightText": "NOASSERTION",
                       "packageFileName": os.path.basename(archive),
                       "checksums": [{"algorithm": "SHA256", "checksumValue": sha256(archive)}],
                       "externalRefs": [{"referenceCategory": "SECURITY", "referenceType": "cpe23Type",
                                         "referenceLocator": f"cpe:2.3:a:gnu:{name}:{number}:*:*:*:*:*:*:*"}]})
        relations.append((spdx_id("File-davit"), "STATIC_LINK", spdx_id("Static-" + name)))
    for (name, number, source, arch), ref in sorted(packages.items()):
        listed.append({"SPDXID": ref, "name": name, "versionInfo": number, "supplier": "Organization: Debian",
                       "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
                       "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "sourceInfo": "source package " + source,
                       "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                         "referenceLocator": f"pkg:deb/debian/{name}@{number}?arch={arch}"}]})
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"davit-{version}",
               "documentNamespace": f"https://spdx.org/spdxdocs/davit-{version}-{whole[:32]}",
               "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                                "creators": ["Tool: davit-sbom"]},
               "packages": listed, "files": files,
               "relationships": [{"spdxElementId": a, "relationshipType": r, "relatedSpdxElement": b}
                                 for a, r, b in sorted(set(relations))]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
