"""What Azure's own SDK lets through of a virtual machine: aks_schema.py, for
azure-mgmt-compute.  `python azurevm_schema.py` writes schema.json anew."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "aks"))

import aks_schema  # noqa: E402

PATH = pathlib.Path(__file__).with_name("schema.json")
SCHEMA = json.loads(PATH.read_text()) if PATH.exists() else {}


def export():
    return aks_schema.export("compute", ("VirtualMachine", "VirtualMachineInstanceView"))


def problems(model, body, reply=False):
    return aks_schema.problems(model, body, SCHEMA, reply)


if __name__ == "__main__":
    PATH.write_text(json.dumps(export(), indent=1, sort_keys=True) + "\n")
