"""The shipped machine catalogue, configs/catalogue.yaml: it parses, and what it says is plausible."""
import datetime
import pathlib
import re

import pytest
import yaml

PATH = pathlib.Path(__file__).resolve().parents[2] / "configs" / "catalogue.yaml"
DEVICES = ("gpu", "neuron_cores", "HPU", "TPU", "NPU")
CLOUDS = ("aws", "gcp", "azure")
FACT_KEYS = {"arch", "sold", "network", "local_ssd", "nvlink"}
MACHINE_KEYS = {*FACT_KEYS, "cloud", "cpu", "memory", "accelerator", "price", "spot", "region", "prices", "as_of", "attach", *DEVICES}
ACCELERATOR_KEYS = {"cloud", "accelerator", "aliases", "price", "spot", "counts", "region", "prices", "as_of"}
# Accelerators that Ray has no constant for.
NOT_IN_RAY = {"A10", "M60", "P40", "T4G", "RTX-PRO-4500",
              "AMD-Radeon-Pro-V520", "AMD-Radeon-Pro-V620", "AMD-Radeon-Pro-V710"}


class UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys; here that is an error."""


def _mapping(loader, node, deep=False):
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            raise ValueError(f"duplicate key {key.value!r} at line {key.start_mark.line + 1}")
        seen.add(key.value)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


UniqueKeyLoader.add_constructor(
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, lambda loader, node: _mapping(loader, node, deep=True))


@pytest.fixture(scope="module")
def catalogue():
    return yaml.load(PATH.read_text(encoding="utf-8"), Loader=UniqueKeyLoader)


@pytest.fixture(scope="module")
def machines(catalogue):
    return catalogue["machines"]


def gib(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)Gi", text)
    assert match, f"memory {text!r}"
    return float(match[1])


def family(name, machine):
    if machine["cloud"] == "aws":
        return name.split(".")[0]
    if machine["cloud"] == "gcp":
        return re.sub(r"-\d+[a-z]?$", "", name)
    return re.sub(r"^(Standard_[A-Z]+)\d+", r"\1#", name)


def size(machine):
    return (machine["cpu"], gib(machine["memory"]), *(machine.get(d, 0) for d in DEVICES))


def check_price(name, entry):
    price = entry["price"]
    assert isinstance(price, float) and 0 < price < 200, name
    assert entry.get("region"), name
    assert isinstance(entry.get("as_of", datetime.date.min), datetime.date), name
    assert entry["region"] not in entry.get("prices", {}), name
    for region, there in entry.get("prices", {}).items():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*\d*", region) and 0.5 * price < there < 3 * price, (name, region)
    if "spot" in entry:
        assert 0 < entry["spot"] <= price, name


def test_head(catalogue):
    assert catalogue["schema"] == "davit-catalogue/1"
    assert set(catalogue) == {"schema", "machines", "accelerators"}


def test_machines(machines):
    assert len(machines) >= 120
    assert {m["cloud"] for m in machines.values()} == set(CLOUDS)
    for name, m in machines.items():
        assert set(m) <= MACHINE_KEYS, name
        assert m["cloud"] in CLOUDS, name
        assert type(m["cpu"]) is int and m["cpu"] > 0, name
        assert 0.2 <= gib(m["memory"]) / m["cpu"] <= 60, name
        devices = [d for d in DEVICES if d in m]
        assert len(devices) <= 1, name
        assert bool(devices) == ("accelerator" in m), name
        for d in devices:
            assert type(m[d]) is int and m[d] > 0, name
        assert m.get("attach", True) is True, name
        assert m.get("arch", "arm64") == "arm64" and set(m.get("sold", ["spot"])) <= {"spot", "reserved", "flex-start"}, name
        assert not (devices and "attach" in m), name
        if "price" in m:
            check_price(name, m)
        else:
            assert "region" not in m and "as_of" not in m, name


def test_a_bigger_machine_of_a_family_is_not_cheaper(machines):
    priced = {}
    for name, m in machines.items():
        if "price" in m:
            priced.setdefault((family(name, m), m.get("accelerator"), m["region"]), []).append((name, m))
    assert max(map(len, priced.values())) > 5
    for group in priced.values():
        for small, a in group:
            for big, b in group:
                if small != big and all(x <= y for x, y in zip(size(a), size(b))):
                    assert a["price"] <= b["price"], (small, big)


def test_a_region_is_dearer_by_one_factor_for_a_family(machines):
    """A figure that slipped by a digit, a column or a size: EC2 prices the sizes of a family alike, within what it rounds."""
    factors = {}
    for name, m in machines.items():
        if m["cloud"] == "aws":
            for region, there in m.get("prices", {}).items():
                factors.setdefault((family(name, m), region), {})[name] = there / m["price"]
    assert {f for f, _ in factors} == {"g4dn", "g5", "g6", "g6e"}
    for (_, region), by_name in factors.items():
        assert max(by_name.values()) / min(by_name.values()) < 1.002, (region, by_name)


def test_accelerators(catalogue):
    aliases = []
    for name, a in catalogue["accelerators"].items():
        assert set(a) <= ACCELERATOR_KEYS, name
        assert a["cloud"] == "gcp" and a["accelerator"], name
        assert a["counts"] == sorted(set(a["counts"])) and a["counts"][0] >= 1, name
        check_price(name, a)
        aliases += [name, *a.get("aliases", [])]
    assert len(aliases) == len(set(aliases))


def test_well_known_entries(catalogue, machines):
    p2 = machines["p2.xlarge"]
    assert (p2["cpu"], p2["memory"], p2["gpu"], p2["accelerator"], p2["price"]) == (4, "61Gi", 1, "K80", 0.90)
    assert "attach" not in machines["e2-standard-8"]
    assert machines["n1-standard-8"]["attach"] is True
    t4 = catalogue["accelerators"]["nvidia-tesla-t4"]
    assert t4["accelerator"] == "T4" and "t4" in t4["aliases"] and t4["counts"] == [1, 2, 4]
    assert machines["Standard_NC4as_T4_v3"]["accelerator"] == "T4"
    assert machines["Standard_ND96isr_H100_v5"]["gpu"] == 8
    assert machines["trn1.2xlarge"]["neuron_cores"] == 2
    assert machines["dl1.24xlarge"]["HPU"] == 8


def test_accelerator_names_are_rays(catalogue, machines):
    rays = pytest.importorskip("ray.util.accelerators.accelerators")
    known = {v for n, v in vars(rays).items() if n.isupper() or n.startswith("AMD_")} | NOT_IN_RAY
    for section in (machines, catalogue["accelerators"]):
        for name, entry in section.items():
            assert entry.get("accelerator") in known | {None}, name
