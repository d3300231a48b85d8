"""The catalogue's EC2 facts beside the data that they are from: configs/catalogue.py."""
import importlib.util

from lib import ROOT


def test_as_the_source_has_it():
    spec = importlib.util.spec_from_file_location("catalogue", ROOT / "configs/catalogue.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compare() == []
    types, _ = module.source()
    compared = [n for n, m in module.read().items() if m["cloud"] == "aws" and n in types]
    assert len(compared) > 250
    assert any(m.get("sold") for m in module.read().values())
