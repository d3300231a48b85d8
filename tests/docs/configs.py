"""A YAML block of a page: what it is a part of, and whether Davit takes it.

A whole configuration is checked as it is.  A part is put into a small one that
has what lacks; a part of a RayCluster into configs/kubernetes/raycluster.yaml.
"""
import yaml

from lib import ROOT

KEYS = {"cluster", "head", "api", "state", "ha", "catalogue", "plugin_dir", "limits", "providers", "node_types", "queues"}
TYPES = {"some-type": {"resources": {"CPU": 8, "memory": "32Gi"}, "price": 0.3, "max": 4}}
RAY_YAML = {"cluster_name": "docs", "provider": {"type": "local"}, "head_node_type": "head",
            "available_node_types": {"head": {"resources": {"CPU": 4}}, "work": {"resources": {"CPU": 4}, "max_workers": 2}}}


def merged(base, part):
    """A list is replaced; of a mapping what the part says comes over the base's."""
    if not isinstance(base, dict) or not isinstance(part, dict):
        return part
    return {**base, **{k: merged(base.get(k), v) for k, v in part.items()}}


def whole(part):
    """The part as something `davit validate` reads; None: it is no kind of file of ours."""
    if not isinstance(part, dict):
        return None
    if "schema" in part or "available_node_types" in part or "podTypes" in part or "kind" in part:
        return part
    if set(part) == {"davit"}:
        return merged(RAY_YAML, part)
    if {"spec", "metadata"} & set(part):
        text = (ROOT / "configs/kubernetes/raycluster.yaml").read_text()
        return merged(next(d for d in yaml.safe_load_all(text) if d["kind"] == "RayCluster"), part)
    if not set(part) <= KEYS:
        return None
    base = {"cluster": "docs", "node_types": {**TYPES, **named_by(part.get("queues") or {})}}
    if "node_types" not in part and "sim" not in part.get("providers", {"sim": {}}):
        base["node_types"] = {"some-type": {**TYPES["some-type"], "provider": "sim"}}
    return {**base, **part}


def named_by(queues):
    """The node types that queues speak of, which a part does not have to show."""
    names = [n for q in queues.values() for n in q.get("node_types", [])]
    labels = [q["selector"] for q in queues.values() if "selector" in q]
    return {**{n: TYPES["some-type"] for n in names},
            **{f"selected-{i}": {**TYPES["some-type"], "labels": has} for i, has in enumerate(labels)}}


def check(block, folder, shell):
    """What is wrong with it; empty: nothing.  The page's shell asks, with what it has exported."""
    if "..." in block.text:
        return "a configuration with ... cannot be checked: write it out, or fence it as text"
    parts = list(yaml.safe_load_all(block.text))
    if block.file and len(parts) == 1 and {"image", "config"} <= set(parts[0]):  # values of the chart
        parts = [parts[0]["config"]]
    if len(parts) != 1 or whole(parts[0]) is None:
        return "no configuration, and no part of one: say `<!-- docs: not run: WHY -->` above it, or fence it as text"
    text = block.text if block.file or whole(parts[0]) == parts[0] else yaml.safe_dump(whole(parts[0]), sort_keys=False)
    path = folder / (block.file or f".block-{block.line}.yaml")
    if not block.file:
        path.write_text(text)
    code, printed = shell.run(f"( cd {folder} && davit validate {path.relative_to(folder)} )")
    if not block.file:
        path.unlink()
    return "" if code == 0 else f"davit validate says {code}:\n{printed}"
