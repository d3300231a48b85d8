"""The package: strictly typed, its types those of the API's document, installed with them."""
import pathlib
import subprocess
import sys
import zipfile

import pytest

from lib import ROOT

PACKAGE = ROOT / "configs/python"


@pytest.fixture(scope="module")
def python():
    """Of the environment with mypy and setuptools."""
    p = subprocess.run([ROOT / "tests/setup.sh", "types"], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(p.stdout.split()[-1]) / "bin" / "python"


def test_mypy_is_strict(python, tmp_path):
    """For the oldest Python that pyproject.toml promises."""
    p = subprocess.run([python, "-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir", tmp_path, "davit"], cwd=PACKAGE,
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stdout


def test_a_wrong_use_is_found(python, tmp_path):
    """The types reach a program that uses them."""
    (tmp_path / "use.py").write_text('import davit\nx: str = davit.status()["tick"]\ndavit.request_resources(ttl=[])\ndavit.nodes()["nodes"][0]["nam"]\n')
    p = subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "c", "use.py"], cwd=tmp_path, capture_output=True, text=True,
                       env={"MYPYPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"})
    assert [line.split(":")[1] for line in p.stdout.split("\n") if ": error:" in line] == ["2", "3", "4"], p.stdout


def test_types_are_those_of_the_document():
    p = subprocess.run([sys.executable, PACKAGE / "make_types.py", "--check"], capture_output=True, text=True)
    assert p.returncode == 0, p.stdout


def test_only_the_standard_library(python):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import davit; print([m for m in sys.modules if m.partition('.')[0] not in {*sys.stdlib_module_names, 'davit', '__main__'}])"
    p = subprocess.run([python, "-I", "-c", code, PACKAGE], capture_output=True, text=True, check=True)
    assert eval(p.stdout) == [] or all(m.startswith(("_distutils", "sitecustomize", "distutils")) for m in eval(p.stdout)), p.stdout


def test_the_wheel(python, tmp_path):
    """It has all files, the mark of a typed package, and no dependency."""
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", PACKAGE, source], check=True)
    subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path, source], check=True)
    wheel, = tmp_path.glob("davit-*.whl")
    with zipfile.ZipFile(wheel) as z:
        names = set(z.namelist())
        meta = z.read(next(n for n in names if n.endswith("METADATA"))).decode()
    ours = {f"davit/{p.name}" for p in (PACKAGE / "davit").iterdir() if p.suffix == ".py" or p.name == "py.typed"}
    assert {n for n in names if n.startswith("davit/")} == ours and "davit/py.typed" in ours
    assert "Requires-Dist" not in meta
