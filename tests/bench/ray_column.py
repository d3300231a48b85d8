#!/usr/bin/env python3
"""One packing case through Ray's own scheduler: what it would buy, in how many
CPU seconds.  Needs a Python with Ray; no cluster runs.

    ray_column.py CASE.json     -> {"cost", "nodes", "unplaced", "cpu_s"}

Ray knows no prices and adds up fractions of a node's GPUs, so not all of its
plan need fit on real devices: the cost is what it would buy all the same.
"""
import json
import logging
import sys
import time


def main():
    from ray.autoscaler.v2.scheduler import (NodeTypeConfig,
                                             ResourceDemandScheduler,
                                             SchedulingRequest)
    from ray.core.generated import common_pb2
    from ray.core.generated.autoscaler_pb2 import (ResourceRequest,
                                                   ResourceRequestByCount)
    logging.disable(logging.INFO)
    with open(sys.argv[1]) as f:
        case = json.load(f)
    types, price = {}, {}
    for t in case["node_types"]:
        label = (t.get("labels") or {}).get("accelerator_type")
        price[t["name"]] = t["price"]
        types[t["name"]] = NodeTypeConfig(
            name=t["name"], min_worker_nodes=0,
            resources={k: v for k, v in t["resources"].items() if v},
            labels={"ray.io/accelerator-type": label} if label else {},
            max_worker_nodes=1000000 if t.get("max") is None else t["max"])
    wanted = []
    for d in case["demands"]:
        r = ResourceRequest()
        for name, value in d["resources"].items():
            if value:
                r.resources_bundle[name] = value
        if d.get("accelerator_types"):
            c = r.label_selectors.add().label_constraints.add()
            c.label_key = "ray.io/accelerator-type"
            c.operator = common_pb2.LabelSelectorOperator.Value(
                "LABEL_OPERATOR_IN")
            c.label_values.extend(d["accelerator_types"])
        wanted.append(ResourceRequestByCount(request=r, count=d["count"]))
    request = SchedulingRequest(
        disable_launch_config_check=True, node_type_configs=types,
        max_num_nodes=case.get("max_nodes"), resource_requests=wanted,
        current_instances=[])
    began = time.process_time()
    reply = ResourceDemandScheduler().schedule(request)
    spent = time.process_time() - began
    print(json.dumps({
        "cost": sum(price[r.instance_type] * r.count for r in reply.to_launch),
        "nodes": sum(r.count for r in reply.to_launch),
        "unplaced": len(reply.infeasible_resource_requests),
        "cpu_s": spent}))


if __name__ == "__main__":
    main()
