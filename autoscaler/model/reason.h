/*
 * reason.h - every action, and every thing not done, has one of these.
 *
 * The code is what the API, the events and the metrics carry; the text is for
 * people.  Add at the end of a group; never reuse a name.
 */
#ifndef MODEL_REASON_H
#define MODEL_REASON_H

/*   enum, code, text */
#define REASON_MAP(X) \
    X(NONE, "none", "no reason") \
    /* why a bundle is not placed on an offer */ \
    X(LACKS, "lacks_resource", "the node type has too little of a resource") \
    X(LABEL, "label_mismatch", "the node type's labels do not match") \
    X(MAX_TYPE, "max_of_type", "the node type is at its max") \
    X(MAX_NODES, "max_nodes", "the cluster is at limits.max_nodes") \
    X(BUDGET, "over_budget", "limits.max_cost_per_hour would be exceeded") \
    X(BACKOFF, "backoff", "the offer is in back-off after a failure") \
    X(PROVIDER_DOWN, "provider_down", "the provider is not ready") \
    X(TYPE_DISABLED, "type_disabled", "the node type was refused as invalid") \
    X(CONSERVE, "conserve_accelerators", \
      "accelerator nodes are not bought for work without one") \
    X(GANG, "gang_incomplete", "the gang does not fit as a whole") \
    X(SPREAD, "spread_conflict", "each bundle needs a node of its own") \
    X(FRACTION, "whole_devices_only", "this device cannot be shared") \
    X(THROTTLE, "launch_limit", "max launches in flight or upscaling speed") \
    X(IMPROVING, "improving", "waits for a better plan") \
    X(UNCONFIRMED, "unconfirmed", \
      "new, or perhaps placed a moment ago; a second look follows") \
    X(TAINT, "taint_not_tolerated", \
      "the node type has a taint that is not tolerated") \
    X(QUEUE_TYPE, "not_in_queue", "the node type is not in the queue") \
    X(QUEUE_FULL, "queue_full", "the queue's quota is used up") \
    X(QUEUE_DENIED, "queue_denied", \
      "there is no such queue, or it is not for this owner") \
    X(ALTERNATIVE, "alternative_waits", \
      "an alternative before it still has its time") \
    X(CLOSED, "not_offered", "the provider does not offer it now") \
    X(UNHELPED, "did_not_help", \
      "one was bought for it, joined, and did not help") \
    X(OFFERS_AWAITED, "offers_awaited", \
      "a provider has not said yet what it offers") \
    /* why nodes are launched */ \
    X(FOR_MIN, "min_of_type", "to reach the node type's min") \
    X(FOR_REQUEST, "request", "for a request") \
    X(FOR_TASK, "pending_task", "for pending tasks and actors") \
    X(FOR_GANG, "pending_gang", "for a placement group") \
    X(FOR_POD, "pending_pod", "for pending pods") \
    X(FOR_SPARE, "spare", "to keep head-room") \
    X(FOR_CONSOLIDATE, "consolidation", "to take the place of a dearer node") \
    /* why a node is ended */ \
    X(END_IDLE, "idle", "idle longer than its timeout") \
    X(END_MAX_TYPE, "over_max_of_type", "more nodes of the type than its max") \
    X(END_MAX_NODES, "over_max_nodes", "more nodes than limits.max_nodes") \
    X(END_OUTDATED, "outdated", "its node type was removed or changed") \
    X(END_FAILED, "failed", "it failed or never joined") \
    X(END_CONSOLIDATE, "consolidated", "its work fits cheaper elsewhere") \
    X(END_BUDGET, "over_budget_end", "limits.max_cost_per_hour is exceeded") \
    X(END_HOST_GROUP, "host_group_incomplete", \
      "another machine of its host group is lost") \
    X(END_TAKEN, "taken_back", "the cloud takes it back") \
    X(END_ASKED, "asked_to_end", "a user asked to drain and end it") \
    /* why a node is kept */ \
    X(KEEP_HEAD, "head", "the head is never ended") \
    X(KEEP_BUSY, "busy", "it has work") \
    X(KEEP_STARTING, "starting", "it is on its way") \
    X(KEEP_IDLE_WAIT, "idle_wait", "idle, but not yet for its timeout") \
    X(KEEP_MIN, "min_kept", "needed for the node type's min") \
    X(KEEP_REQUEST, "needed_by_request", "a request counts on it") \
    X(KEEP_DEMAND, "needed_by_demand", \
      "pending work will run on it, or work of a node that is consolidated") \
    X(KEEP_STALE, "stale_view", \
      "the last read of it failed: nothing is ended on old data") \
    X(KEEP_REFUSED, "drain_refused", "the head refused to drain it") \
    X(KEEP_DRAINING, "draining", "it is draining") \
    X(KEEP_STOPPING, "stopping", "it is being ended") \
    X(KEEP_UNMANAGED, "unmanaged", "Davit does not manage it") \
    X(KEEP_PROTECTED, "protected", "a user protected it") \
    X(KEEP_HOST_GROUP, "needed_by_host_group", \
      "another machine of its host group has to stay") \
    X(KEEP_BY_CLOUD, "held_by_cloud", \
      "its cloud must not be asked to end it now") \
    X(KEEP_UNANSWERED, "launch_unanswered", \
      "its launch was not answered: it counts until a list shows what came") \
    X(KEEP_UNKNOWN, "found_lately", \
      "found in the cloud: the demand source is asked about it first") \
    X(KEEP_HELD, "not_ours", \
      "it may belong to another journal: kept until `davit adopt`") \
    X(KEEP_ANOTHERS, "anothers", \
      "another daemon of this cluster, which is at work, launched it") \
    X(KEEP_UNJOINED, "not_launched_here", \
      "it never joined, and Davit did not launch it: kept until `davit adopt`") \
    X(KEEP_UNMATCHED, "node_unmatched", \
      "a node that matches no machine has joined since: it may run there") \
    X(KEEP_CONTESTED, "node_contested", \
      "several nodes say that they are it, and nothing decides between them") \
    X(KEEP_MISSING, "missing", \
      "it was ready, and the demand source has no node of it: it may run") \
    X(KEEP_ORPHAN, "no_provider", \
      "its provider is no longer configured: kept until `davit forget`") \
    X(KEEP_BRAKE, "too_many_ends", \
      "more ends at once than limits.max_ends: kept until `davit release`") \
    X(KEEP_PRICE, "price_rose", \
      "a price rose over limits.max_cost_per_hour, and it may have work")

#define REASON_ENUM_(name, code, text) REASON_##name,
enum reason { REASON_MAP(REASON_ENUM_) REASON_COUNT };
#undef REASON_ENUM_

const char *reason_code(enum reason r);
const char *reason_text(enum reason r);
/* REASON_COUNT when there is no such code. */
enum reason reason_from_code(const char *code);

#endif
