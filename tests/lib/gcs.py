"""A Ray head's GCS as an autoscaler sees it, for clusters larger than a test machine.

    with Gcs() as gcs, PodNodes(plane, gcs):
        gcs.tasks([({"GPU": 1}, 40)])         # pending: shapes and how many
        gcs.gangs([[{"GPU": 1}] * 4])         # pending placement groups: their bundles
        gcs.busy(name), gcs.idle(name, ms)    # nodes that PodNodes let join
        gcs.drains, gcs.reports               # what the autoscaler did

The messages are Ray's own (its Python package has them); the answers come
from lists.  Speaks gRPC without TLS on loopback.
"""
import concurrent.futures
import hashlib
import threading
import time

import grpc
from ray.core.generated import autoscaler_pb2 as pb
from ray.core.generated import gcs_service_pb2 as gcs_pb

from lib.kube import Informer, pods_path
from lib.raylets import end_pod, resources_of


class Gcs:
    def __init__(self, port=0):
        self.lock, self.port = threading.RLock(), port
        self.nodes = {}                      # name: NodeState
        self.since = {}                      # name: idle since, monotonic
        self.demand, self.groups, self.version = [], [], 0
        self.kv = {(b"__autoscaler", b"__autoscaler_v2_enabled"): b"1"}  # (namespace, key)
        self.drains, self.reports, self.reads = [], [], 0
        self.drained_at = {}                 # name: wall time of an accepted drain
        self.asked = []                      # (wall time, DrainNodeRequest)
        self.body, self.left = None, None    # left(name): a node is dead

    def __enter__(self):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=[
            ("grpc.max_send_message_length", 64 << 20)])
        self.server.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler("ray.rpc.autoscaler.AutoscalerStateService", {
                "GetClusterResourceState": _handler(self.read),
                "ReportAutoscalingState": _handler(self.report), "DrainNode": _handler(self.drain)}),
            grpc.method_handlers_generic_handler("ray.rpc.InternalKVGcsService", {
                "InternalKVGet": _handler(self.kv_get), "InternalKVPut": _handler(self.kv_put),
                "InternalKVDel": _handler(self.kv_del)})))
        self.port = self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        self.server.start()
        self.address = f"127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait()

    # ---- what a test says

    def changed(self):
        self.body = None

    def tasks(self, shapes):
        """[(resources, count)]: what waits now."""
        with self.lock:
            self.demand = list(shapes)
            self.changed()

    def gangs(self, groups):
        """[[resources, ...]]: placement groups (PACK) that wait now."""
        with self.lock:
            self.groups = list(groups)
            self.changed()

    def join(self, name, kind, total, idle=True, head=False, life=""):
        """life: which raylet of that name it is, as each has an id of its own."""
        with self.lock:
            n = pb.NodeState(node_id=hashlib.sha1((name + life).encode()).digest() + bytes(8), instance_id=name,
                             ray_node_type_name=kind, node_ip_address="127.0.0.1", status=pb.NodeStatus.RUNNING)
            n.total_resources.update(total)
            n.available_resources.update(total)
            for own in ("node:__internal_head__",) if head else ():
                n.total_resources[own] = n.available_resources[own] = 1
            self.nodes[name] = n
            self.changed()
            if idle and not head:
                self.idle(name)

    def leave(self, name):
        with self.lock:
            n = self.nodes.get(name)
            if n is None or n.status == pb.NodeStatus.DEAD:
                return
            n.status = pb.NodeStatus.DEAD
            self.since.pop(name, None)
            self.changed()
        if self.left:
            self.left(name)

    def busy(self, name):
        with self.lock:
            n = self.nodes[name]
            n.status = pb.NodeStatus.RUNNING
            for k in list(n.total_resources):
                n.available_resources[k] = 0
            n.node_activity[:] = ["Busy workers on node."]
            self.since.pop(name, None)
            self.changed()

    def idle(self, name, ms=0):
        with self.lock:
            n = self.nodes[name]
            n.status = pb.NodeStatus.IDLE
            n.available_resources.update(n.total_resources)
            n.node_activity[:] = []
            self.since[name] = time.monotonic() - ms / 1000
            self.changed()

    def ends(self, name):
        """Its work is done, whatever its status."""
        with self.lock:
            n = self.nodes[name]
            n.available_resources.update(n.total_resources)
            n.node_activity[:] = []
            self.changed()

    def alive(self):
        with self.lock:
            return {k for k, n in self.nodes.items() if n.status != pb.NodeStatus.DEAD}

    # ---- what an autoscaler asks

    def read(self, _):
        with self.lock:
            self.reads += 1
            if self.since or self.body is None:
                now = time.monotonic()
                for name, at in self.since.items():
                    self.nodes[name].idle_duration_ms = int((now - at) * 1000)
                state = pb.ClusterResourceState(cluster_session_name="test", node_states=self.nodes.values())
                for shape, count in self.demand:
                    r = state.pending_resource_requests.add(count=count)
                    r.request.resources_bundle.update(shape)
                for i, bundles in enumerate(self.groups):
                    g = state.pending_gang_resource_requests.add(details=f"{i:036x}:PACK|PENDING")
                    for bundle in bundles:
                        g.requests.add().resources_bundle.update(bundle)
                self.body = pb.GetClusterResourceStateReply(cluster_resource_state=state).SerializeToString()
            # each answer has the next number, as a GCS counts; a field that comes again adds to the first
            self.version += 1
            return self.body + pb.GetClusterResourceStateReply(cluster_resource_state=pb.ClusterResourceState(
                cluster_resource_state_version=self.version)).SerializeToString()

    def report(self, data):
        with self.lock:
            self.reports.append(pb.ReportAutoscalingStateRequest.FromString(data).autoscaling_state)
            del self.reports[:-100]
        return b""

    def drain(self, data):
        r = pb.DrainNodeRequest.FromString(data)
        with self.lock:
            name = next((k for k, n in self.nodes.items() if n.node_id == r.node_id), None)
            known = name is not None and self.nodes[name].status != pb.NodeStatus.DEAD
            idle = known and name in self.since
            accepted = known and (idle or r.reason == pb.DRAIN_NODE_REASON_PREEMPTION)
            self.drains.append((name, accepted))
            self.asked.append((time.time(), r))
            if accepted:
                self.drained_at.setdefault(name, time.time())
                self.nodes[name].status = pb.NodeStatus.DRAINING
                self.since.pop(name, None)
                self.changed()
                # a drained raylet that is idle ends by itself; one that must go has until its deadline
                if r.reason != pb.DRAIN_NODE_REASON_PREEMPTION:
                    threading.Timer(0.3, self.leave, [name]).start()
        return pb.DrainNodeReply(is_accepted=accepted, rejection_reason_message="" if accepted else
                                 "The node is not idle.").SerializeToString()

    def kv_get(self, data):
        r = gcs_pb.InternalKVGetRequest.FromString(data)
        return gcs_pb.InternalKVGetReply(value=self.kv.get((r.namespace, r.key), b"")).SerializeToString()

    def kv_put(self, data):
        r = gcs_pb.InternalKVPutRequest.FromString(data)
        self.kv[(r.namespace, r.key)] = r.value
        return b""

    def kv_del(self, data):
        r = gcs_pb.InternalKVDelRequest.FromString(data)
        self.kv.pop((r.namespace, r.key), None)
        return b""


def _handler(answer):
    return grpc.unary_unary_rpc_method_handler(lambda data, _: answer(data))  # bytes in, bytes out


class PodNodes(Informer):
    """Worker pods that run join the GCS under their names; deleted ones leave.

    When a node ended by itself, its pod ends a moment later, as containers do."""

    def __init__(self, plane, gcs, namespace="default", cluster=None):
        label = f"ray.io/cluster={cluster}" if cluster else "ray.io/cluster"
        super().__init__(plane.client_of("machines"),
                         pods_path(namespace, labelSelector=f"{label},ray.io/node-type=worker"), self.look)
        self.gcs, self.joined = gcs, set()
        gcs.left = self.left

    def __enter__(self):
        self.start()
        return self

    def left(self, name):
        with self.lock:
            pod = next((p for p in self.objects.values() if p["metadata"]["name"] == name), None)
        if pod and "deletionTimestamp" not in pod["metadata"]:
            threading.Timer(0.7, end_pod, [self.client, pod]).start()

    def __exit__(self, *_):
        self.stop()

    def look(self, _):
        pods = {p["metadata"]["name"]: p for p in self.all()
                if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]}
        for name in self.joined - set(pods):
            self.gcs.leave(name)
            self.joined.discard(name)
        for name in set(pods) - self.joined:
            self.joined.add(name)
            self.gcs.join(name, pods[name]["metadata"]["labels"]["ray.io/group"], resources_of(pods[name]))
