/*
 * codec.h - snapshots and plans as JSON (jansson).
 *
 * One file, snapshot.json, serves as bug report, golden test, fuzz seed,
 * what-if and replay: docs/snapshot.md describes it.  Writing one and reading it
 * again gives the same snapshot.
 */
#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include <jansson.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../model/plan.h"
#include "../model/snapshot.h"

/* Each reader copies into the arena.  A snapshot
 * may have the names of 0.1: root is brought up to date.  On bad input:
 * INVALID, and err says where ("bundles[2].resources.GPU: ...") and what is
 * allowed. */
enum status codec_snapshot_read(json_t *root, struct arena *arena,
                                struct snapshot **ret, struct err *err);
/* A new reference.  Dumped with JSON_REAL_PRECISION(15) or more it loses
 * nothing. */
json_t *codec_snapshot_write(const struct snapshot *snapshot);

/* One bundle as users write it in a request: {"GPU":1,"accelerator_type":"T4"}
 * or {"resources":{...},"count":n,"accelerator_type":...,"labels":{...},
 * "any_of":[...]}.  where names it in errors. */
enum status codec_bundle_read(const json_t *v, const char *where,
                              struct arena *arena, struct snap_bundle *ret,
                              struct err *err);
json_t *codec_bundle_write(const struct snap_bundle *b);

/* The list under "taints": of objects or "key=value:Effect". */
enum status codec_taints_read(const json_t *list, const char *where,
                              struct arena *arena, struct taints *ret,
                              struct err *err);

/* The body of a request_resources call: {"bundles":[...],"num_cpus":8,
 * "strategy":"PACK","priority":0,"queue":"a100"}; "owner" and "ttl" are the
 * caller's to read. At least one of bundles and num_cpus.  ret is of source
 * REQUEST. */
enum status codec_request_read(const json_t *body, const char *owner,
                               int64_t since_ms, struct arena *arena,
                               struct snap_demand *ret, struct err *err);
/* The same as canonical JSON, in the arena; what the journal keeps and GET
 * shows: {"bundles":[<as codec_bundle_write()>],"strategy":"PACK","priority":5,
 * "queue":"q"}, the last three only when they say something. */
const char *codec_request_write(const struct snap_demand *d, struct arena *a);

/* The list under "previous" of a node of snapshot.json. */
enum status codec_previous_read(const json_t *list, struct arena *arena,
                                struct snap_placements *ret, struct err *err);
json_t *codec_previous_write(const struct snap_placements *h);

/* Our numbers and names as JSON that reads back the same. */
json_t *codec_seconds(int64_t ms);
json_t *codec_dollars(int64_t micros); /* -1: null */
json_t *codec_amount(int64_t amount);  /* 1/10,000 */
json_t *codec_text(const char *s);     /* bytes that are no UTF-8: '?' */

json_t *codec_plan_write(const struct problem *s, const struct plan *p);
/* Its text, compact, without ever being one tree: that of a plan with 40,000
 * bundles would take 200 MiB.  False: it does not fit. */
bool codec_plan_print(const struct problem *s, const struct plan *p,
                      struct buf *to);

/* Text with libjansson's own message turned into ours: "line 3 column 7: ...";
 * rejects NaN, duplicate keys and depth over 64. */
enum status codec_parse(const char *text, size_t n, json_t **ret,
                        struct err *err);

/* "30m", "60s", "500ms", "2h", or a plain number of seconds. */
bool duration_parse(const char *text, int64_t *ret_ms);

#endif
