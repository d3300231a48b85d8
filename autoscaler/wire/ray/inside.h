/*
 * inside.h - what the files of ray/ share; nobody else includes it (tests
 * and fuzzers do, for ray_view_parse).
 */
#ifndef WIRE_RAY_INSIDE_H
#define WIRE_RAY_INSIDE_H

#include "../../base/hash.h"
#include "../grpc.h"
#include "ray.h"

#define PB(name) Ray__Rpc__Autoscaler__##name

/* ---- token.c: where Ray itself looks for its token */

struct ray_token {
    char *text;        /* "" when there is none */
    char source[300];  /* where it came from, for messages */
    char trouble[400]; /* why a place that was named gave none, or "" */
};

/* token_file "" or NULL: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH,
 * ~/.ray/auth_token, as Ray does. */
void ray_token_read(struct ray_token *t, const char *token_file);
void ray_token_done(struct ray_token *t);

/* ---- ray.c: the head and one call to it */

struct ray_head {
    char *base, *label; /* "http://h:p", "Ray head h:p" */
    char *token_file;
    struct http_client *client;
    struct ray_token token;
    char *authorization;  /* "Bearer ...", NULL without a token */
    bool answered;        /* some call, some time */
    struct arena scratch; /* of one call */
    char *session;        /* of the last read: another one means another
                           * head */
    bool v2;              /* of that session */
    char *note;           /* the text we keep under __autoscaling_error;
                           * NULL: what is there is not known */
    int64_t note_mono_ms, note_seen_version; /* when, and of what view */
};

/* One unary call; path is one of the two services below and a method's name.
 * The reply is in h->scratch until the next ray_call_begin(). */
void ray_call_begin(struct ray_head *h);
enum status ray_call(struct ray_head *h, const char *path, const void *message,
                     size_t len, int64_t deadline_mono_ms, const void **ret,
                     size_t *ret_len, struct err *err);
#define RAY_AUTOSCALER "/ray.rpc.autoscaler.AutoscalerStateService/"
#define RAY_KV "/ray.rpc.InternalKVGcsService/"

/* ---- kv.c: messages as bytes, and back */

struct ProtobufCMessage;
struct ProtobufCMessageDescriptor;
const void *ray_packed(struct arena *a, const struct ProtobufCMessage *m,
                       size_t *ret_n);
/* In the arena, of which it takes no more than `most` bytes; NULL: the bytes
 * are no such message, or it takes more. */
void *ray_unpacked(struct arena *a,
                   const struct ProtobufCMessageDescriptor *type,
                   const void *bytes, size_t n, size_t most);

/* After ray_call_begin(); values are texts, "" when there is none, in
 * h->scratch. */
enum status ray_kv_get(struct ray_head *h, const char *space, const char *key,
                       int64_t deadline_mono_ms, const char **ret,
                       struct err *err);
enum status ray_kv_put(struct ray_head *h, const char *key, const char *value,
                       int64_t deadline_mono_ms, struct err *err);
enum status ray_kv_del(struct ray_head *h, const char *key,
                       int64_t deadline_mono_ms, struct err *err);

/* ---- view.c: a reply to a view */

/* bytes: a GetClusterResourceStateReply.  Fills an empty view, which keeps no
 * pointer into bytes or scratch.  Fails only for bytes that are no such
 * message. */
enum status ray_view_parse(const void *bytes, size_t n, struct arena *scratch,
                           struct source_view *view, struct err *err);

/* ---- strings.c */

/* Names and values occur often: each is kept once, cleaned (base/text.h), so
 * that equal ones are one pointer. */
struct ray_strings {
    struct arena *scratch, *arena; /* of the table; of the strings */
    struct hash known;
};
const char *ray_intern(struct ray_strings *t, const char *s);

/* What a resource's name means to an autoscaler. */
enum ray_resource {
    RAY_PLAIN, /* something a node type can offer */
    RAY_NODE,  /* node:...: this very node */
    RAY_ACCEL, /* accelerator_type:X: a match */
    RAY_GROUP, /* X_group_[n_]<36 hex>: inside a group */
};
enum ray_resource ray_resource_kind(const char *name);

/* Sorted by name; equal names are added up. */
struct qtys ray_sort_qtys(struct qty *v, uint32_t n);

/* ---- nodes.c, bundle.c, demand.c: what a view is made of */

/* Labels "_PG_<id>" that living nodes carry for groups that are being placed
 * again: strings of the table. */
struct ray_demand_input {
    struct ray_strings *strings;
    const char *const *held;
    uint32_t n_held;
};
struct Ray__Rpc__Autoscaler__ClusterResourceState;
/* held: one per label of in, true for those that some node carries. */
void ray_nodes_read(const struct ray_demand_input *in,
                    const struct Ray__Rpc__Autoscaler__ClusterResourceState *s,
                    bool *held, struct source_view *view);
void ray_demands_read(const struct ray_demand_input *in,
                      const struct Ray__Rpc__Autoscaler__ClusterResourceState *s,
                      struct source_view *view);

enum ray_kind { RAY_GOOD, RAY_ELSEWHERE, RAY_GARBLED, RAY_EMPTY };
enum { RAY_MAX_ALTS = 64 }; /* fall-backs of one bundle that are looked at */
/* Alternatives of a request behind the n that are there; equal ones once.
 * anti_affinity: a label that no two bundles may share a value of, or NULL. */
struct Ray__Rpc__Autoscaler__ResourceRequest;
enum ray_kind ray_alts_read(
    struct ray_strings *w,
    const struct Ray__Rpc__Autoscaler__ResourceRequest *r,
    const char *anti_affinity, struct snap_alt *alts, uint32_t *n);

struct ray_bundles { /* of one demand */
    struct ray_strings *strings;
    VEC(struct snap_bundle) all;
};
/* Adds count bundles with these alternatives, made after the mark. */
void ray_bundle_add(struct ray_bundles *to, struct arena_mark before,
                    const struct snap_alt *alts, uint32_t n, int64_t count);
/* Sorted, equal ones counted together. */
void ray_bundles_finish(struct ray_bundles *b, struct snap_demand *d);

/* The label that keeps a STRICT_SPREAD gang's bundles apart, or NULL. */
struct Ray__Rpc__Autoscaler__GangResourceRequest;
const char *ray_gang_anti_affinity(
    const struct Ray__Rpc__Autoscaler__GangResourceRequest *g);

/* ---- crowd.c: leaves out of a view what no plan has room for */
void ray_crowd_limit(struct arena *scratch, struct source_view *view);

/* ---- report.c, note.c */

/* The accelerator type that this term asks for, which Ray knows as a resource;
 * NULL: none. */
const char *ray_term_accel(const struct term *t);
/* Of our own making (demand.c): Ray knows it as a constraint. */
bool ray_term_is_ours(const struct term *t);
enum status ray_note_update(struct ray_head *h, const struct source_report *r,
                            int64_t deadline_mono_ms, struct err *err);

#endif
