"""The JSON of Davit's REST API as types.

Written by make_types.py from docs/openapi.json; change that.  Times are texts
in RFC 3339, UTC; prices US dollars an hour; memory is in bytes.
"""
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class _ErrorError(TypedDict):
    status: str
    where: str
    text: str


class ErrorError(_ErrorError, total=False):
    allowed: List[str]


class Error(TypedDict):
    error: "ErrorError"


Resources = Dict[str, float]

Labels = Dict[str, str]

BundleIn = Dict[str, Any]


class RequestIn(TypedDict, total=False):
    owner: str
    bundles: List["BundleIn"]
    num_cpus: int
    bundle_label_selectors: List["Labels"]
    ttl: Union[str, float]
    strategy: Literal["", "PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
    priority: int
    queue: str


class _Need(TypedDict):
    resources: "Resources"


class Need(_Need, total=False):
    accelerator_type: str
    labels: "Labels"


class _Obstacle(TypedDict):
    type: str
    provider: str
    zone: str
    spot: bool
    reason: str
    text: str


class Obstacle(_Obstacle, total=False):
    resource: str
    has: float
    needs: float
    label: str
    taint: str
    queue: str
    until: Optional[str]


class NearestLacks(TypedDict):
    resource: str
    needs: float
    has: float


class NearestMismatches(TypedDict):
    label: str
    wanted: str
    has: Optional[str]


class Nearest(TypedDict):
    type: str
    provider: str
    lacks: List["NearestLacks"]
    mismatches: List["NearestMismatches"]
    text: str


class Unplaced(TypedDict):
    owner: str
    source: "Source"
    id: str
    bundle: "Need"
    waiting: int
    infeasible: int
    nearest: Optional["Nearest"]
    reasons: List["Obstacle"]
    text: str


Source = Literal["task", "gang", "request", "pod", "spare"]


class Launch(TypedDict):
    type: str
    provider: str
    zone: str
    spot: bool
    count: int
    price_per_hour: float
    price_estimated: bool
    boot_s: Optional[float]
    reason: str
    why: str
    owner: str
    waits: Optional[str]


class RequestReplyDisplaces(TypedDict):
    owner: str
    source: "Source"
    node: str
    bundles: int
    cost_per_hour: float


class _RequestReply(TypedDict):
    owner: str
    cleared: bool
    feasible: bool
    satisfied: bool
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: List["Unplaced"]
    waiting_for: List["Unplaced"]
    launches: List["Launch"]
    cost_per_hour: float
    adds_per_hour: float
    displaces: List["RequestReplyDisplaces"]
    eta_s: Optional[float]
    expires_at: Optional[str]
    text: str


class RequestReply(_RequestReply, total=False):
    existed: bool


class Request(TypedDict):
    owner: str
    source: Literal["rest", "head"]
    request: Optional[Dict[str, Any]]
    created_at: Optional[str]
    expires_at: Optional[str]
    feasible: bool
    satisfied: bool
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int
    text: str


class RequestList(TypedDict):
    tick: int
    requests: List["Request"]


class Why(TypedDict):
    action: Literal["keep", "end", "undrain", "none"]
    reason: str
    text: str
    until: Optional[str]


class NodeFor(TypedDict):
    owner: str
    source: "Source"
    id: str
    bundle: "Need"
    count: int


Node = TypedDict("Node", {
    "id": str,
    "type": str,
    "provider": str,
    "zone": str,
    "spot": bool,
    "state": Literal["intended", "requested", "starting", "ready", "draining", "stopping", "gone"],
    "head": bool,
    "unmanaged": bool,
    "outdated": bool,
    "protected": bool,
    "cordoned": bool,
    "asked_to_end": bool,
    "asked_by": str,
    "because": str,
    "launched_by": str,
    "why": "Why",
    "price_per_hour": Optional[float],
    "created_at": Optional[str],
    "age_s": Optional[float],
    "since_at": Optional[str],
    "use": Literal["busy", "held", "idle", ""],
    "idle_ms": Optional[int],
    "activity": str,
    "ray_id": str,
    "cloud_id": str,
    "address": str,
    "note": str,
    "total": "Resources",
    "available": "Resources",
    "labels": "Labels",
    "for": List["NodeFor"],
})


class NodeListGroups(TypedDict):
    name: str
    nodes: int
    by_state: Dict[str, int]
    cost_per_hour: float


class _NodeList(TypedDict):
    tick: int
    age_s: float
    total: int
    matched: int
    nodes: List["Node"]


class NodeList(_NodeList, total=False):
    groups: List["NodeListGroups"]


class Offer(TypedDict):
    zone: str
    spot: bool
    price_per_hour: float
    price_estimated: bool
    room: Optional[int]
    backoff_for: Optional[str]
    backoff_until: Optional[str]
    interruptions: int
    closed: bool
    note: str


class Type(TypedDict):
    name: str
    provider: str
    machine: str
    pool: str
    resources: "Resources"
    labels: "Labels"
    min: int
    max: Optional[int]
    idle_timeout_s: Optional[float]
    boot_s: Optional[float]
    price_per_hour: float
    price_estimated: bool
    unavailable: Optional[str]
    nodes: int
    by_state: Dict[str, int]
    planned: int
    offers: List["Offer"]


class Provider(TypedDict):
    name: str
    plugin: str
    version: str
    ready: bool
    problem: str
    listed_at: Optional[str]
    machines: int
    http_last_minute: int
    http_most_a_minute: int


class Head(TypedDict):
    configured: bool
    ok: bool
    address: str
    session: str
    problem: str
    read_at: Optional[str]
    state_version: int


class Stop(TypedDict):
    kind: Literal["provider_auth", "type_refused", "offer_of_no_use", "call_hangs", "calls_used_up", "list_short", "launch_unanswered", "end_stuck", "ends_wait", "machines_held", "machines_unjoined", "nodes_unmatched", "node_claimed", "set_aside", "demand_left_out", "not_readable", "scheduler_differs", "machines_missing", "source_unread", "another_head", "daemon_beside", "journal_copied", "provider_gone", "ends_held", "over_budget"]
    subject: str
    text: str
    failing: bool


class WaitingPods(TypedDict):
    reason: str
    count: int
    text: str


class Backoff(TypedDict):
    provider: str
    type: str
    zone: str
    spot: bool
    status: str
    text: str
    until: Optional[str]


class Failure(TypedDict):
    machine: str
    type: str
    status: str
    text: str
    at: str


class ShadowSum(TypedDict):
    spent: float
    node_hours: float
    waited_bundle_s: float


class ShadowSide(TypedDict):
    nodes: int
    cost_per_hour: float
    waiting_bundles: int
    spent: float
    node_hours: float
    waited_bundle_s: float


class ShadowHour(TypedDict):
    at: str
    looked_at_s: float
    present: "ShadowSum"
    davit: "ShadowSum"
    would_launch: int
    would_end: int


class Shadow(TypedDict):
    since_at: Optional[str]
    looked_at_s: float
    present: "ShadowSide"
    davit: "ShadowSide"
    saved: float
    saved_ratio: Optional[float]
    would_launch: int
    would_end: int
    hours: List["ShadowHour"]
    notes: List[str]


StatusReply = Union["Status", "OwnStatus"]


class OwnStatusCostOwners(TypedDict):
    owner: str
    nodes: int
    per_hour: float


class OwnStatusCost(TypedDict):
    now_per_hour: float
    owners: List["OwnStatusCostOwners"]


class OwnStatus(TypedDict):
    cluster: str
    version: str
    tick: int
    at: str
    started_at: str
    uptime_s: float
    age_s: float
    ready: bool
    shadow: bool
    own: bool
    rights: str
    problems: List[str]
    problems_more: int
    demand: "StatusDemand"
    requests: List["Request"]
    pending: List["Unplaced"]
    pending_more: int
    cost: "OwnStatusCost"


class StatusLimits(TypedDict):
    max_nodes: Optional[int]
    idle_timeout_s: Optional[float]
    max_cost_per_hour: Optional[float]
    policy: str


class StatusNodes(TypedDict):
    total: int
    ready: int
    starting: int
    leaving: int
    busy: int
    held: int
    idle: int
    cordoned: int
    by_state: Dict[str, int]


class StatusResourcesValue(TypedDict):
    total: float
    used: float
    available: float


class StatusDemandOwners(TypedDict):
    owner: str
    source: "Source"
    demands: int
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int


class StatusDemand(TypedDict):
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int
    booting: int
    owners: List["StatusDemandOwners"]


class StatusPlanEnds(TypedDict):
    node: str
    type: str
    reason: str
    text: str


class StatusPlan(TypedDict):
    launches: List["Launch"]
    ends: List["StatusPlanEnds"]
    launched: int
    ended: int
    cost_per_hour: float
    bound_per_hour: float
    planned_ms: float
    work: int


class StatusCostOwners(TypedDict):
    owner: str
    nodes: int
    per_hour: float


class StatusCostOffers(TypedDict):
    type: str
    provider: str
    spot: bool
    nodes: int
    per_hour: float


class StatusCost(TypedDict):
    now_per_hour: float
    planned_per_hour: float
    fleet_per_hour: float
    fleet_idle_per_hour: float
    fleet_bound_per_hour: float
    fleet_gap_percent: Optional[float]
    idle_per_hour: float
    owners: List["StatusCostOwners"]
    offers: List["StatusCostOffers"]


class StatusConfig(TypedDict):
    path: str
    loaded_at: Optional[str]
    problem: str
    held: bool
    ends: List[str]


class StatusHeld(TypedDict):
    config: str
    head: str
    journal: str
    ends: List[str]
    places: List[str]
    lists: List[str]


class StatusJournal(TypedDict):
    ok: bool


class Status(TypedDict):
    cluster: str
    version: str
    tick: int
    at: str
    started_at: str
    uptime_s: float
    age_s: float
    ready: bool
    shadow: bool
    problems: List[str]
    head: "Head"
    limits: "StatusLimits"
    nodes: "StatusNodes"
    types: List["Type"]
    resources: Dict[str, "StatusResourcesValue"]
    demand: "StatusDemand"
    requests: List["Request"]
    pending: List["Unplaced"]
    pending_more: int
    improving_until: Optional[str]
    plan: "StatusPlan"
    cost: "StatusCost"
    stops: List["Stop"]
    waiting_pods: List["WaitingPods"]
    backoffs: List["Backoff"]
    failures: List["Failure"]
    providers: List["Provider"]
    config: "StatusConfig"
    held: "StatusHeld"
    journal: "StatusJournal"


class WhyBundleNodes(TypedDict):
    id: str
    state: str
    count: int


class WhyBundleLaunches(TypedDict):
    type: str
    zone: str
    spot: bool
    nodes: int
    count: int


class WhyBundle(TypedDict):
    bundle: "Need"
    count: int
    placed: int
    launched: int
    waiting: int
    infeasible: int
    alternative: Optional[int]
    nodes: List["WhyBundleNodes"]
    launches: List["WhyBundleLaunches"]
    nearest: Optional["Nearest"]
    obstacles: List["Obstacle"]
    text: str


class _WhyOwnerDemands(TypedDict):
    source: "Source"
    id: str
    strategy: str
    gang: bool
    priority: int
    since_at: Optional[str]
    bundles: List["WhyBundle"]


class WhyOwnerDemands(_WhyOwnerDemands, total=False):
    scheduler_says: str


class WhyOwner(TypedDict):
    owner: str
    request: Optional["Request"]
    demands: List["WhyOwnerDemands"]


class _WhyReply(TypedDict):
    name: str
    tick: int
    age_s: float
    text: List[str]


class WhyReply(_WhyReply, total=False):
    type: List[str]
    node: "Node"
    owner: "WhyOwner"


PlanIn = Dict[str, Any]


class PlanReplyCandidates(TypedDict):
    type: str
    provider: str
    zone: str
    spot: bool
    price_per_hour: float
    price_estimated: bool
    boot_s: Optional[float]
    nodes: int
    why_not: str


class _PlanReply(TypedDict):
    plan: Dict[str, Any]
    request: Optional["RequestReply"]


class PlanReply(_PlanReply, total=False):
    candidates: List["PlanReplyCandidates"]


class Event(TypedDict):
    id: int
    at: str
    kind: str
    subject: str
    reason: str
    text: str


class Audit(TypedDict):
    entries: List["AuditEntry"]
    next: int
    missed: bool


_AuditEntry = TypedDict("_AuditEntry", {
    "id": int,
    "at": str,
    "caller": str,
    "via": Literal["token", "kubernetes", "socket", "certificate", "open"],
    "from": str,
    "method": str,
    "path": str,
    "subject": str,
    "code": int,
})


class AuditEntry(_AuditEntry, total=False):
    more: int


OverviewCostMonth = TypedDict("OverviewCostMonth", {
    "from": str,
    "to": str,
    "seen_from": Optional[str],
    "seen_s": float,
    "spent": float,
    "forecast": float,
    "limit": Optional[float],
})


class OverviewCost(TypedDict):
    now_per_hour: float
    idle_per_hour: float
    unowned_per_hour: float
    max_per_hour: Optional[float]
    fleet_per_hour: float
    bound_per_hour: float
    gap_percent: Optional[float]
    surcharged: bool
    month: "OverviewCostMonth"


class OverviewDemand(TypedDict):
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int


class OverviewWaiting(TypedDict):
    owner: str
    source: str
    id: str
    bundles: int
    infeasible: bool
    need: str
    since: Optional[str]
    reason: str
    text: str


class OverviewNext(TypedDict):
    what: Literal["launch", "ready", "leaving", "end"]
    type: str
    node: str
    count: int
    at: Optional[str]
    last_at: Optional[str]
    late: bool
    owner: str
    reason: str
    text: str
    cost_per_hour: float


class OverviewTypes(TypedDict):
    name: str
    provider: str
    resources: "Resources"
    nodes: int
    min: int
    max: Optional[int]
    by_state: Dict[str, int]
    planned: int
    price_per_hour: float
    price_estimated: bool
    cost_per_hour: float
    boot_s: Optional[float]
    held: str


class OverviewOwners(TypedDict):
    owner: str
    sources: List[str]
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int
    cost_per_hour: float
    created_at: Optional[str]
    expires_at: Optional[str]


class Overview(TypedDict):
    cluster: str
    version: str
    tick: int
    at: str
    started_at: str
    shadow: bool
    ready: bool
    problems: List[str]
    cost: "OverviewCost"
    nodes: "StatusNodes"
    unused_nodes: int
    max_nodes: Optional[int]
    demand: "OverviewDemand"
    waiting: List["OverviewWaiting"]
    waiting_more: int
    next: List["OverviewNext"]
    next_more: int
    types: List["OverviewTypes"]
    types_more: int
    owners: List["OverviewOwners"]
    owners_more: int


class HistorySlots(TypedDict):
    at: str
    seen_s: float
    spent: float
    cost_per_hour: Optional[float]
    nodes: int
    waiting: int
    launched: int
    ended: int


class History(TypedDict):
    step_s: int
    slots: List["HistorySlots"]


class SpentOwners(TypedDict):
    owner: str
    spent: float


class SpentTypes(TypedDict):
    type: str
    provider: str
    market: str
    spent: float


class Spent(TypedDict):
    since: str
    until: str
    owners: List["SpentOwners"]
    types: List["SpentTypes"]
    idle: float
    own: bool


class DecisionListDecisionsOthers(TypedDict):
    type: str
    zone: str
    spot: bool
    more_per_hour: float
    reason: str
    text: str


class DecisionListDecisions(TypedDict):
    id: int
    at: str
    what: Literal["launch", "end"]
    type: str
    zone: str
    spot: bool
    count: int
    node: str
    reason: str
    text: str
    owner: str
    source: str
    demand: str
    change_per_hour: float
    before_per_hour: float
    others: List["DecisionListDecisionsOthers"]


class DecisionList(TypedDict):
    decisions: List["DecisionListDecisions"]
    next: int


class WhatIfInNodeTypesValue(TypedDict, total=False):
    price: float
    max: float
    min: float


class WhatIfIn(TypedDict, total=False):
    node_types: Dict[str, "WhatIfInNodeTypesValue"]
    max_cost_per_hour: Optional[float]
    max_nodes: Optional[float]
    request: Any


class WhatIfSums(TypedDict):
    machines_launched: int
    machines_ended: int
    bundles: int
    placed: int
    launched: int
    waiting: int
    infeasible: int
    cost_per_hour: float
    bound_per_hour: float


class WhatIfReplyTypes(TypedDict):
    type: str
    launched_before: int
    launched_after: int
    ended_before: int
    ended_after: int


class WhatIfReply(TypedDict):
    before: "WhatIfSums"
    after: "WhatIfSums"
    types: List["WhatIfReplyTypes"]
    request: Any


class EventList(TypedDict):
    events: List["Event"]
    next: int
    missed: bool


class Protect(TypedDict):
    node: str
    protected: bool
    text: str


class Cordon(TypedDict):
    node: str
    cordoned: bool
    text: str


class Drain(TypedDict):
    node: str
    asked_to_end: bool
    text: str


class Reload(TypedDict):
    reloaded: bool
    path: str
    loaded_at: Optional[str]
    text: str


class Shown(TypedDict, total=False):
    config: str
    head: str
    journal: str
    machines: List[str]
    providers: List[str]


class Apply(TypedDict):
    applied: bool
    path: str
    loaded_at: Optional[str]
    text: str


class Count(TypedDict):
    count: int
    text: str


class Health(TypedDict):
    status: Literal["ok", "starting", "failing"]
    problems: List[str]
    last_tick_ms: Optional[int]
    longest_step_ms: int
