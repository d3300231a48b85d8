"""What the compiler and the linker put into the daemon and its plug-ins, the unit
for systemd, and the bill of materials."""
import json
import re
import shutil
import subprocess

import pytest
from lib import ROOT

BUILD = ROOT / "build" / "release"  # other variants are for tests
BINARIES = [BUILD / "davit", *sorted((BUILD / "plugins").glob("davit-*.so"))]


def readelf(*args):
    return subprocess.run(["readelf", "-W", *map(str, args)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", BINARIES, ids=lambda p: p.name)
def test_hardened(path):
    segments, dynamic, symbols = readelf("-l", path), readelf("-d", path), readelf("--dyn-syms", path)
    data = path.read_bytes()
    lacks = []
    if path.name == "davit" and not re.search(r"FLAGS_1\).*PIE", dynamic):
        lacks.append("PIE")
    if "GNU_RELRO" not in segments or not re.search(r"BIND_NOW|FLAGS_1\).*NOW", dynamic):
        lacks.append("full RELRO")
    if re.search(r"GNU_STACK.*RWE", segments) or "GNU_STACK" not in segments:
        lacks.append("a stack that is not run")
    if re.search(r"LOAD.*RWE", segments):
        lacks.append("no segment that is written and run")
    if re.search(r"\((TEXTREL|RPATH|RUNPATH)\)", dynamic):
        lacks.append("no TEXTREL, RPATH, RUNPATH")
    if "__stack_chk_fail" not in symbols:
        lacks.append("stack protector")
    if not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        lacks.append("fortify")
    for flag in (b"-fstack-clash-protection", b"-fcf-protection=full"):
        if flag not in data:  # the compiler's own record in the debug information
            lacks.append(flag.decode())
    assert not lacks, f"{path.name} lacks {', '.join(lacks)}"


def test_every_plug_in_is_looked_at():
    assert {p.name for p in BINARIES[1:]} == {f"davit-{p.name}.so" for p in (ROOT / "providers").iterdir() if p.is_dir()}


def test_indirect_calls_land_on_marks():
    """-fcf-protection is in the code, not only in a record: functions begin with endbr64."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", BUILD / "plugins" / "davit-sim.so"], capture_output=True,
                          text=True, check=True).stdout
    entry = re.search(r"<davit_provider_v1>:\n\s*[0-9a-f]+:\s*(\w+)", code)
    assert entry and entry.group(1) == "endbr64"


def test_fortify_is_what_the_compiler_has():
    flags = (BUILD / "flags").read_text()
    has = subprocess.run(["gcc", "-O2", "-Werror", "-D_FORTIFY_SOURCE=3", "-x", "c", "-S", "-o", "/dev/null", "-"],
                         input="#include <stdio.h>\n", text=True, capture_output=True, check=False).returncode == 0
    assert f"-D_FORTIFY_SOURCE={3 if has else 2}" in flags


def test_the_unit_gives_little_away():
    assert shutil.which("systemd-analyze"), "tests/setup.sh installs it"
    p = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20",
                        str(ROOT / "configs" / "davit.service")], capture_output=True, text=True, check=False)
    told = re.search(r"Overall exposure level for \S+: ([0-9.]+)", p.stdout)
    assert p.returncode == 0 and told and float(told.group(1)) <= 2.0, p.stdout[-400:] + p.stderr
    print(told.group(0))


def test_bill_of_materials():
    subprocess.run(["make", "-s", "sbom"], cwd=ROOT, check=True, capture_output=True)
    text = (BUILD / "davit.spdx.json").read_text()
    bill = json.loads(text)
    names = {p["name"] for p in bill["packages"]}
    linked = "libmicrohttpd" in subprocess.run(["ldd", BUILD / "davit"], capture_output=True, text=True, check=True).stdout
    versions = {p["name"]: p["versionInfo"] for p in bill["packages"]}
    assert linked or re.match(r"[1-9]\d*\.\d+\.\d+$", versions["libmicrohttpd"]), "what is linked statically is named too"
    static = [p for p in bill["packages"] if p["SPDXID"].startswith("SPDXRef-Static-")]
    assert linked != bool(static) and all(re.fullmatch(r"[0-9a-f]{64}", p["checksums"][0]["checksumValue"]) for p in static), static
    assert {"davit", "libc6", "libcurl4", "libjansson4", "libsqlite3-0", "libexpat1"} <= names, names
    ids = {x["SPDXID"] for x in bill["packages"] + bill["files"]} | {"SPDXRef-DOCUMENT"}
    assert all(r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids for r in bill["relationships"])
    assert all(p.get("versionInfo") for p in bill["packages"]) and str(ROOT) not in text
    assert {f["fileName"] for f in bill["files"]} == {"./" + p.name for p in BINARIES}
