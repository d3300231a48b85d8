"""Davit's REST API for Python programs; docs/api.md says what the calls mean."""
import datetime
import time
import urllib.parse
from typing import Any, Dict, List, Optional, Union, cast

from .errors import Infeasible, NotInTime
from .transport import Transport, from_environment
from .types import (BundleIn, EventList, Labels, Node, NodeList, PlanReply, Protect, Request, RequestList,
                    RequestReply, Status, WhyReply)

Duration = Union[str, float, datetime.timedelta]  # "30m", seconds
POLL_S = 0.5


class Client:
    """One daemon.  Without arguments it is found as the command finds it:
    DAVIT_URL, DAVIT_TOKEN_FILE, DAVIT_TOKEN, DAVIT_CA, DAVIT_CERT, DAVIT_KEY.
    For one thread at a time.  `timeout` is of one call, in seconds."""

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, token_file: Optional[str] = None,
                 ca: Optional[str] = None, cert: Optional[str] = None, key: Optional[str] = None, timeout: float = 35) -> None:
        given = token is not None or token_file is not None
        self.transport = Transport(
            from_environment("DAVIT_URL", url) or "http://127.0.0.1:8790",
            token if given else from_environment("DAVIT_TOKEN", None),
            token_file if given else from_environment("DAVIT_TOKEN_FILE", None),
            from_environment("DAVIT_CA", ca), from_environment("DAVIT_CERT", cert), from_environment("DAVIT_KEY", key), timeout)
        if not given and self.transport.token_file:
            self.transport.token = None  # the file comes first, as with the command

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.transport.close()

    # ---- asking for machines

    def request_resources(self, num_cpus: Optional[int] = None, bundles: Optional[List[BundleIn]] = None,
                          bundle_label_selectors: Optional[List[Labels]] = None, *, owner: str = "default",
                          ttl: Optional[Duration] = None, wait: Optional[float] = None, strategy: Optional[str] = None,
                          queue: Optional[str] = None, priority: Optional[int] = None) -> RequestReply:
        """As ray.autoscaler.sdk.request_resources: a total that running work
        counts towards, which stays until it is replaced.  Each owner has one.

        ttl: it ends by itself.  wait: so many seconds for all of it to be ready;
        raises Infeasible at once when it can never be, NotInTime after that,
        and the request stands."""
        reply = cast(RequestReply, self.transport.call("POST", "/v1/request_resources", body_of(
            num_cpus, bundles, bundle_label_selectors, owner, ttl, strategy, queue, priority)))
        return reply if wait is None or reply["cleared"] else self._wait(reply, wait)

    def _wait(self, reply: RequestReply, wait: float) -> RequestReply:
        end = time.monotonic() + wait
        if not reply["feasible"]:
            raise Infeasible(reply)
        while not reply["satisfied"]:
            now = self.request(reply["owner"])
            if now["satisfied"]:
                reply["satisfied"], reply["text"] = True, now["text"]
                reply["placed"], reply["launched"], reply["waiting"] = now["placed"], now["launched"], now["waiting"]
            elif time.monotonic() >= end:
                raise NotInTime(now)
            else:
                time.sleep(min(POLL_S, max(0.0, end - time.monotonic())))
        return reply

    def what_if(self, num_cpus: Optional[int] = None, bundles: Optional[List[BundleIn]] = None,
                bundle_label_selectors: Optional[List[Labels]] = None, *, owner: str = "default", strategy: Optional[str] = None,
                queue: Optional[str] = None, priority: Optional[int] = None) -> PlanReply:
        """What request_resources() would bring about; nothing happens."""
        return cast(PlanReply, self.transport.call("POST", "/v1/plan", body_of(
            num_cpus, bundles, bundle_label_selectors, owner, None, strategy, queue, priority)))

    def clear(self, owner: str = "default") -> RequestReply:
        return cast(RequestReply, self.transport.call("DELETE", "/v1/request_resources/" + quoted(owner)))

    def request(self, owner: str = "default") -> Request:
        return cast(Request, self.transport.call("GET", "/v1/request_resources/" + quoted(owner)))

    def requests(self) -> RequestList:
        return cast(RequestList, self.transport.call("GET", "/v1/request_resources"))

    # ---- what is, and why

    def status(self) -> Status:
        return cast(Status, self.transport.call("GET", "/v1/status"))

    def nodes(self, type: Optional[str] = None, state: Optional[str] = None) -> NodeList:
        asked = {k: v for k, v in (("type", type), ("state", state)) if v is not None}
        return cast(NodeList, self.transport.call("GET", "/v1/nodes" + ("?" + urllib.parse.urlencode(asked) if asked else "")))

    def node(self, id: str) -> Node:
        return cast(Node, self.transport.call("GET", "/v1/nodes/" + quoted(id)))

    def why(self, name: str) -> WhyReply:
        """The reasons of a node, or of what an owner asks for."""
        return cast(WhyReply, self.transport.call("GET", "/v1/why/" + quoted(name)))

    def events(self, after: int = 0) -> EventList:
        """What happened after an event's id, the oldest first."""
        return cast(EventList, self.transport.call("GET", f"/v1/events?format=json&after={after}"))

    def protect(self, node: str) -> Protect:
        """The node is not ended until unprotect()."""
        return cast(Protect, self.transport.call("POST", f"/v1/nodes/{quoted(node)}/protect"))

    def unprotect(self, node: str) -> Protect:
        return cast(Protect, self.transport.call("DELETE", f"/v1/nodes/{quoted(node)}/protect"))


def quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def body_of(num_cpus: Optional[int], bundles: Optional[List[BundleIn]], selectors: Optional[List[Labels]], owner: str,
            ttl: Optional[Duration], strategy: Optional[str], queue: Optional[str], priority: Optional[int]) -> Dict[str, Any]:
    if num_cpus is not None and (isinstance(num_cpus, bool) or not isinstance(num_cpus, int)):
        raise TypeError("num_cpus should be of type int.")
    if selectors is not None and (bundles is None or len(selectors) != len(bundles)):
        raise ValueError("bundle_label_selectors needs bundles, and one selector for each of them")
    fields = {"owner": owner, "num_cpus": num_cpus, "bundles": bundles, "bundle_label_selectors": selectors, "strategy": strategy,
              "queue": queue, "priority": priority, "ttl": ttl.total_seconds() if isinstance(ttl, datetime.timedelta) else ttl}
    return {k: v for k, v in fields.items() if v is not None}
