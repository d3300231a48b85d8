/*
 * ray.h - a Ray head's GCS, as its autoscaler speaks to it.
 *
 * Unary gRPC over libcurl's HTTP/2; messages by number (ray.proto beside this
 * file lists the few we use, from Ray 2.60's autoscaler.proto).  All calls
 * block: workers make them.  One ray_head serves one thread at a time.
 */
#ifndef WIRE_RAY_H
#define WIRE_RAY_H

#include "../base/arena.h"
#include "../model/facts.h"

struct ray_head;

/* address "host:port" or "http(s)://host:port"; token_file "" means where Ray
 * itself looks: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token.  The
 * token is read again when the head refuses it. */
struct ray_head *ray_head_new(const char *address, const char *token_file);
void ray_head_free(struct ray_head *h);

enum ray_status { RAY_UNSPECIFIED, RAY_RUNNING, RAY_DEAD, RAY_IDLE, RAY_DRAINING };

struct ray_node {
    const char *ray_id;           /* hex */
    const char *instance_id;      /* RAY_CLOUD_INSTANCE_ID, "" if none */
    const char *type, *machine;   /* RAY_NODE_TYPE_NAME, instance type name */
    const char *address;
    const char *activity;         /* node_activity joined by "; " */
    bool head;                    /* has the resource node:__internal_head__ */
    enum ray_status status;
    int64_t idle_ms;              /* only when IDLE, else -1 */
    struct qtys total, available; /* without node:*; accelerator_type:X became
                                   * the label ACCEL_LABEL */
    struct pairs labels;
};

struct ray_view {
    int64_t version;              /* cluster_resource_state_version */
    const char *session;          /* cluster_session_name */
    bool v2;                      /* false: the head was started without
                                   * RAY_enable_autoscaler_v2=1: it keeps no
                                   * request_resources for us, and `ray status`
                                   * shows nothing */
    int64_t read_mono_ms, took_us;
    const struct ray_node *nodes; /* DEAD ones included */
    uint32_t n_nodes;
    /* pending tasks and actors (one demand, source TASK), placement groups
     * (GANG, id = hex of the group), request_resources (REQUEST, owner "ray") */
    const struct fact_demand *demands;
    uint32_t n_demands;
    uint32_t n_elsewhere;         /* shapes left out because a new machine is no
                                   * help: they name a node, or lie inside a
                                   * placement group that has its place */
    uint32_t n_garbled;           /* left out: they make no sense */
};

enum status ray_head_read(struct ray_head *h, struct arena *arena,
                          int64_t deadline_mono_ms, struct ray_view **ret,
                          struct err *err);

/* What `ray status` shows of us. */
struct ray_report {
    int64_t seen_version;         /* of the view it is based on */
    int64_t version;              /* ours: unix ms, grows */
    struct ray_pending { const char *type, *machine, *id, *address, *detail; }
        const *pending;           /* machines on their way */
    uint32_t n_pending;
    struct ray_failed { const char *type, *machine, *reason;
        int64_t start_s, failed_s; uint32_t count; } const *failed;
    uint32_t n_failed;
    const struct fact_demand *infeasible;  /* TASK, GANG, REQUEST */
    const char *const *why;       /* one per infeasible demand, or NULL */
    uint32_t n_infeasible;
};
/* Only what no change outside the configuration would serve is infeasible: a
 * head with RAY_enable_infeasible_task_early_exit fails those tasks.
 *
 * Pending machines with an id appear one per line, those without as "N
 * launching".  Ray's own status leaves infeasible demand out, so it is also
 * written, in words, where `ray status` appends the autoscaler's troubles and
 * new drivers print them. */
enum status ray_head_report(struct ray_head *h, const struct ray_report *r,
                            int64_t deadline_mono_ms, struct err *err);

/* Asks the head to drain a node.  preempt false: IDLE_TERMINATION, which the
 * head refuses (accepted = false, why filled) when the node has work. */
enum status ray_head_drain(struct ray_head *h, const char *ray_id, bool preempt,
                           const char *message, int64_t deadline_wall_ms,
                           int64_t deadline_mono_ms, bool *accepted, char *why,
                           size_t n_why, struct err *err);

#endif
