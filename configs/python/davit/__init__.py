"""The client of Davit, an autoscaler of GPU machines.

    import davit
    davit.request_resources(bundles=[{"GPU": 1}], owner="train-42", wait=600)

The functions use one Client made from the environment (DAVIT_URL and so on) for
each thread; make a Client of your own for another daemon.
"""
import threading
from typing import List, Optional

from . import types
from .client import Client, Duration
from .errors import Busy, DavitError, Denied, Failed, Infeasible, Invalid, NotFound, NotInTime, Unreachable
from .types import (BundleIn, EventList, Labels, Node, NodeList, PlanReply, Protect, Request, RequestList,
                    RequestReply, Status, WhyReply)

__all__ = ["Busy", "Client", "DavitError", "Denied", "Failed", "Infeasible", "Invalid", "NotFound", "NotInTime", "Unreachable", "clear",
           "events", "node", "nodes", "protect", "request", "request_resources", "requests", "status", "types", "unprotect", "what_if", "why"]

_local = threading.local()


def _client() -> Client:
    client: Optional[Client] = getattr(_local, "client", None)
    if client is None:
        client = _local.client = Client()
    return client


def request_resources(num_cpus: Optional[int] = None, bundles: Optional[List[BundleIn]] = None,
                      bundle_label_selectors: Optional[List[Labels]] = None, *, owner: str = "default",
                      ttl: Optional[Duration] = None, wait: Optional[float] = None, strategy: Optional[str] = None,
                      queue: Optional[str] = None, priority: Optional[int] = None) -> RequestReply:
    """See Client.request_resources()."""
    return _client().request_resources(num_cpus, bundles, bundle_label_selectors, owner=owner, ttl=ttl, wait=wait,
                                       strategy=strategy, queue=queue, priority=priority)


def what_if(num_cpus: Optional[int] = None, bundles: Optional[List[BundleIn]] = None,
            bundle_label_selectors: Optional[List[Labels]] = None, *, owner: str = "default", strategy: Optional[str] = None,
            queue: Optional[str] = None, priority: Optional[int] = None) -> PlanReply:
    """See Client.what_if()."""
    return _client().what_if(num_cpus, bundles, bundle_label_selectors, owner=owner, strategy=strategy, queue=queue, priority=priority)


def clear(owner: str = "default") -> RequestReply:
    return _client().clear(owner)


def request(owner: str = "default") -> Request:
    return _client().request(owner)


def requests() -> RequestList:
    return _client().requests()


def status() -> Status:
    return _client().status()


def nodes(type: Optional[str] = None, state: Optional[str] = None) -> NodeList:
    return _client().nodes(type, state)


def node(id: str) -> Node:
    return _client().node(id)


def why(name: str) -> WhyReply:
    return _client().why(name)


def events(after: int = 0) -> EventList:
    return _client().events(after)


def protect(node: str) -> Protect:
    return _client().protect(node)


def unprotect(node: str) -> Protect:
    return _client().unprotect(node)
