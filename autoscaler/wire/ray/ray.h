/*
 * ray.h - a Ray head's GCS, as its autoscaler speaks to it.
 *
 * Unary gRPC over libcurl's HTTP/2; messages by number (ray.proto beside this
 * file lists the few we use, from Ray 2.60's autoscaler.proto).  All calls
 * block: workers make them.  One ray_head serves one thread at a time.
 */
#ifndef WIRE_RAY_H
#define WIRE_RAY_H

#include "../source.h"

struct ray_head;
extern const struct source_ops ray_ops; /* handles: struct ray_head */

/* address "host:port" or "http(s)://host:port"; token_file "" means where Ray
 * itself looks: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token.  The
 * token is read again when the head refuses it. */
struct ray_head *ray_head_new(const char *address, const char *token_file);
void ray_head_free(struct ray_head *h);

enum status ray_head_read(struct ray_head *h, int64_t deadline_mono_ms,
                          struct source_view **ret, struct err *err);

/* What `ray status` shows of us.
 *
 * Only what no change outside the configuration would serve is infeasible: a
 * head with RAY_enable_infeasible_task_early_exit fails those tasks.
 *
 * Pending machines with an id appear one per line, those without as "N
 * launching".  Ray's own status leaves infeasible demand out, so it is also
 * written as text where `ray status` appends the autoscaler's troubles and
 * new drivers print them. */
enum status ray_head_report(struct ray_head *h, const struct source_report *r,
                            int64_t deadline_mono_ms, struct err *err);

/* Asks the head to drain a node.  preempt false: IDLE_TERMINATION, which the
 * head refuses (accepted = false, why filled) when the node has work. */
enum status ray_head_drain(struct ray_head *h, const char *ray_id, bool preempt,
                           const char *message, int64_t deadline_wall_ms,
                           int64_t deadline_mono_ms, bool *accepted, char *why,
                           size_t n_why, struct err *err);

#endif
