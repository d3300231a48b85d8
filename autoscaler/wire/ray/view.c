/*
 * view.c - a GetClusterResourceState reply to a view: the nodes, and the
 * words and sorting that demand.c uses too.
 *
 * Map order on the wire is random and changes from read to read, so all that
 * is a set is sorted here: the same state gives the same view.  A number that
 * is none (NaN, negative, too large) counts as not there; a node's is then
 * less than it says, which never buys or ends too much.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../model/accel.h"
#include "../../model/amount.h"
#include "ray.pb-c.h"
#include "inside.h"
#include "../text.h"

#define GROUP_ID_HEX 36u  /* PlacementGroupID: 18 bytes */

/* ---- memory and words */

void *ray_memory_alloc(void *memory, size_t n)
{
    struct ray_memory *m = memory;
    size_t cost = (n + 15) / 16 * 16 + 16;
    if (n > m->left || cost > m->left)
        return NULL;  /* protobuf-c gives up, and so do we */
    m->left -= cost;
    return arena_alloc(m->arena, n);
}

void ray_memory_free(void *memory, void *p)
{
    (void)memory;
    (void)p;
}

static uint32_t hash_of(const char *s)
{
    uint32_t h = 2166136261u;  /* FNV-1a */
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static void words_grow(struct ray_words *w)
{
    uint32_t cap = w->cap ? w->cap * 2 : 256;
    const char **slot = ARENA_ARRAY(w->scratch, const char *, cap);
    uint32_t *hash = ARENA_ARRAY(w->scratch, uint32_t, cap);
    for (uint32_t i = 0; i < w->cap; i++) {
        if (!w->slot[i])
            continue;
        uint32_t at = w->hash[i] & (cap - 1);
        while (slot[at])
            at = (at + 1) & (cap - 1);
        slot[at] = w->slot[i];
        hash[at] = w->hash[i];
    }
    w->slot = slot;
    w->hash = hash;
    w->cap = cap;
}

const char *ray_word(struct ray_words *w, const char *s)
{
    if (!s || !*s)
        return "";
    char *copy = NULL;
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] >= 0x7f || (unsigned char)s[i] < 0x20) {
            copy = arena_strndup(w->scratch, s, n);
            text_utf8(copy, n);
            s = copy;
            break;
        }
    if (w->n * 2 >= w->cap)
        words_grow(w);
    uint32_t h = hash_of(s), at = h & (w->cap - 1);
    while (w->slot[at]) {
        if (w->hash[at] == h && strcmp(w->slot[at], s) == 0)
            return w->slot[at];
        at = (at + 1) & (w->cap - 1);
    }
    w->n++;
    w->hash[at] = h;
    return w->slot[at] = arena_strndup(w->arena, s, n);
}

/* ---- names of resources */

/* "CPU_group_<36 hex>" and "CPU_group_0_<36 hex>".  Ray's own pattern takes
 * any id; a user's "disk_group_a" is none of it. */
static bool is_group(const char *name)
{
    size_t n = strlen(name);
    if (n <= GROUP_ID_HEX)
        return false;
    const char *id = name + n - GROUP_ID_HEX, *p = id;
    if (strspn(id, "0123456789abcdef") != GROUP_ID_HEX || p[-1] != '_')
        return false;
    p--;                                   /* at the '_' before the id */
    const char *digits = p;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits < p && digits > name && digits[-1] == '_')
        p = digits - 1;
    return p - name > 6 && memcmp(p - 6, "_group", 6) == 0;
}

enum ray_resource ray_resource_kind(const char *name)
{
    if (strncmp(name, "node:", 5) == 0)
        return RAY_NODE;
    if (accel_type_of_resource(name))
        return RAY_ACCEL;
    return is_group(name) ? RAY_GROUP : RAY_PLAIN;
}

/* ---- sorting */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

struct qtys ray_sort_qtys(struct qty *v, uint32_t n)
{
    uint32_t to = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 0; i < n; i++)
        if (to && strcmp(v[to - 1].name, v[i].name) == 0)
            v[to - 1].amount = amount_add(v[to - 1].amount, v[i].amount);
        else
            v[to++] = v[i];
    return (struct qtys){ v, to };
}

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : strcmp(x->value, y->value);
}

/* Sorted by key; of equal ones the first. */
static struct pairs ray_sort_pairs(struct pair *v, uint32_t n)
{
    uint32_t to = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_key);
    for (uint32_t i = 0; i < n; i++)
        if (!to || strcmp(v[to - 1].key, v[i].key) != 0)
            v[to++] = v[i];
    return (struct pairs){ v, to };
}

/* ---- nodes */

static const char *hex_id(struct ray_words *w, const ProtobufCBinaryData *id)
{
    static const char digit[] = "0123456789abcdef";
    char buf[2 * 64 + 1];
    size_t n = id->len < 64 ? id->len : 64;
    for (size_t i = 0; i < n; i++) {
        buf[2 * i] = digit[id->data[i] >> 4];
        buf[2 * i + 1] = digit[id->data[i] & 15];
    }
    buf[2 * n] = '\0';
    return arena_strdup(w->arena, buf);
}

/* "Resource: CPU currently in use.; Busy workers on node."  What is said of
 * resources inside groups repeats what is said of the plain ones. */
static const char *activity_of(struct ray_words *w, const PB(NodeState) *s)
{
    char buf[512];
    size_t at = 0;
    if (s->status == RAY__RPC__AUTOSCALER__NODE_STATUS__IDLE)
        return "";  /* Ray leaves the last one there */
    for (size_t i = 0; i < s->n_node_activity; i++) {
        const char *line = s->node_activity[i];
        if (strstr(line, "_group_") || strstr(line, "Resource: node:"))
            continue;
        int n = snprintf(buf + at, sizeof buf - at, "%s%s", at ? "; " : "",
                         line);
        if (n < 0 || (size_t)n >= sizeof buf - at)
            break;
        at += (size_t)n;
    }
    buf[at < sizeof buf ? at : sizeof buf - 1] = '\0';
    return ray_word(w, buf);
}

/* The node's own row; *accel gets the type it says it has. */
static struct qtys total_of(struct ray_words *w, const PB(NodeState) *s,
                            bool *head, const char **accel)
{
    struct qty *v = ARENA_ARRAY(w->arena, struct qty, s->n_total_resources);
    uint32_t n = 0;
    for (size_t i = 0; i < s->n_total_resources; i++) {
        const char *name = s->total_resources[i]->key;
        int64_t amount;
        if (!amount_from_double(s->total_resources[i]->value, &amount) ||
            !amount || !name[0])
            continue;
        switch (ray_resource_kind(name)) {
        case RAY_NODE:
            *head |= strcmp(name, "node:__internal_head__") == 0;
            break;
        case RAY_ACCEL:  /* the first in order, whatever the map's order */
            name = accel_type_canonical(accel_type_of_resource(name));
            if (!*accel || strcmp(name, *accel) < 0)
                *accel = name;
            break;
        case RAY_GROUP:
            break;
        case RAY_PLAIN:
            v[n++] = (struct qty){ ray_word(w, name), amount };
        }
    }
    return ray_sort_qtys(v, n);
}

/* One entry for each of total's, so that a node with nothing free is not one
 * of which nothing is known. */
static struct qtys available_of(struct ray_words *w, const PB(NodeState) *s,
                                struct qtys total)
{
    struct qty *v = ARENA_ARRAY(w->arena, struct qty, total.n);
    for (uint32_t i = 0; i < total.n; i++)
        v[i] = (struct qty){ total.v[i].name, 0 };
    for (size_t i = 0; i < s->n_available_resources; i++) {
        struct qty key = { s->available_resources[i]->key, 0 };
        struct qty *at = total.n ? bsearch(&key, v, total.n, sizeof *v, by_name)
                                 : NULL;
        int64_t amount;
        if (!at ||
            !amount_from_double(s->available_resources[i]->value, &amount))
            continue;
        int64_t most = total.v[at - v].amount;
        at->amount = amount < most ? amount : most;
    }
    return (struct qtys){ v, total.n };
}

static struct pairs labels_of(struct ray_words *w, const PB(NodeState) *s,
                              const char *accel,
                              const struct ray_demand_input *in, bool *held)
{
    struct pair *v = ARENA_ARRAY(w->arena, struct pair,
                                 s->n_labels + s->n_dynamic_labels + 1);
    uint32_t n = 0;
    bool has_accel = false;
    for (size_t i = 0; i < s->n_labels; i++) {
        const char *key = s->labels[i]->key, *value = s->labels[i]->value;
        if (!key[0])
            continue;
        if (strcmp(key, ACCEL_LABEL) == 0) {
            has_accel = true;
            value = accel_type_canonical(value);
        }
        v[n++] = (struct pair){ ray_word(w, key), ray_word(w, value) };
    }
    if (accel && !has_accel)
        v[n++] = (struct pair){ ACCEL_LABEL, ray_word(w, accel) };
    for (size_t i = 0; in->n_held && i < s->n_dynamic_labels; i++) {
        const char *key = ray_word(w, s->dynamic_labels[i]->key);
        for (uint32_t k = 0; k < in->n_held; k++)
            if (in->held[k] == key) {
                held[k] = true;
                v[n++] = (struct pair){
                    key, ray_word(w, s->dynamic_labels[i]->value) };
                break;
            }
    }
    return ray_sort_pairs(v, n);
}

static void node_read(struct ray_words *w, const PB(NodeState) *s,
                      const struct ray_demand_input *in, bool *held,
                      struct source_node *node)
{
    const char *accel = NULL;
    node->node_id = hex_id(w, &s->node_id);
    node->instance_id = ray_word(w, s->instance_id);
    node->type = ray_word(w, s->ray_node_type_name);
    node->machine = ray_word(w, s->instance_type_name);
    node->address = ray_word(w, s->node_ip_address);
    node->activity = activity_of(w, s);
    node->zone = node->note = "";
    node->status = (int)s->status >= SOURCE_UNSPECIFIED &&
                           (int)s->status <= SOURCE_DRAINING
                       ? (enum source_status)s->status : SOURCE_UNSPECIFIED;
    node->idle_ms = node->status == SOURCE_IDLE && s->idle_duration_ms >= 0
                        ? s->idle_duration_ms : -1;
    node->total = total_of(w, s, &node->head, &accel);
    node->available = available_of(w, s, node->total);
    node->labels = labels_of(w, s, accel, in, held);
}

static int by_ray_id(const void *a, const void *b)
{
    return strcmp(((const struct source_node *)a)->node_id,
                  ((const struct source_node *)b)->node_id);
}

/* Which labels keep groups apart that may be held by a node already. */
static void find_held(const PB(ClusterResourceState) *s, struct ray_words *w,
                      struct ray_demand_input *in)
{
    size_t n = s->n_pending_gang_resource_requests;
    const char **v = ARENA_ARRAY(w->scratch, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *label =
            ray_gang_apart(s->pending_gang_resource_requests[i]);
        if (label)
            v[in->n_held++] = ray_word(w, label);
    }
    in->held = v;
}

enum status ray_view_parse(const void *bytes, size_t n, struct arena *scratch,
                           struct source_view *view, struct err *err)
{
    struct arena *arena = &view->arena;
    /* a real reply takes some 8 times its size unpacked; the most there is in
     * hostile bytes is far more */
    struct ray_memory memory = { scratch, n * 40 + ((size_t)1 << 20) };
    ProtobufCAllocator allocator = { ray_memory_alloc, ray_memory_free,
                                     &memory };
    PB(GetClusterResourceStateReply) *reply =
        (PB(GetClusterResourceStateReply) *)protobuf_c_message_unpack(
            &ray__rpc__autoscaler__get_cluster_resource_state_reply__descriptor,
            &allocator, n, bytes);
    if (!reply)
        return err_set(err, ST_BROKEN, "the %zu bytes that were answered are "
                       "no GetClusterResourceStateReply", n);
    PB(ClusterResourceState) empty =
        RAY__RPC__AUTOSCALER__CLUSTER_RESOURCE_STATE__INIT;
    const PB(ClusterResourceState) *s = reply->cluster_resource_state
                                            ? reply->cluster_resource_state
                                            : &empty;
    struct ray_words words = { .scratch = scratch, .arena = arena };
    struct ray_demand_input in = { .words = &words };
    find_held(s, &words, &in);
    bool *held = ARENA_ARRAY(scratch, bool, in.n_held);

    struct source_node *nodes = ARENA_ARRAY(arena, struct source_node,
                                         s->n_node_states);
    for (size_t i = 0; i < s->n_node_states; i++)
        node_read(&words, s->node_states[i], &in, held, &nodes[i]);
    if (s->n_node_states > 1)
        qsort(nodes, s->n_node_states, sizeof *nodes, by_ray_id);
    view->nodes = nodes;
    view->n_nodes = (uint32_t)s->n_node_states;
    view->version = s->cluster_resource_state_version;
    view->session = ray_word(&words, s->cluster_session_name);

    uint32_t left = 0;  /* only the labels that some node really carries */
    const char **found = ARENA_ARRAY(scratch, const char *, in.n_held);
    for (uint32_t k = 0; k < in.n_held; k++)
        if (held[k])
            found[left++] = in.held[k];
    in.held = found;
    in.n_held = left;
    ray_demands_read(&in, s, view);
    return ST_OK;
}

/* A session we have not seen: what was written is gone, what is known is not. */
static void another_source(struct ray_head *h, const char *session,
                         int64_t deadline_mono_ms)
{
    const char *v2;
    free(h->session);
    free(h->note);
    h->note = NULL;
    h->session = NULL;
    h->v2 = true;  /* when it cannot be told now: asked again next time */
    if (ray_kv_get(h, "__autoscaler", "__autoscaler_v2_enabled",
                   deadline_mono_ms, &v2, NULL))
        return;
    h->v2 = strcmp(v2, "1") == 0;
    h->session = strdup(session);
    if (!h->session)
        abort();
}

enum status ray_head_read(struct ray_head *h, int64_t deadline_mono_ms,
                          struct source_view **ret, struct err *err)
{
    const void *bytes;
    size_t n;
    int64_t start = clock_mono_us();

    *ret = NULL;
    ray_call_begin(h);
    enum status s = ray_call(h, RAY_AUTOSCALER "GetClusterResourceState", "",
                             0, deadline_mono_ms, &bytes, &n, err);
    if (s)
        return s;
    struct source_view *view = source_view_new();
    s = ray_view_parse(bytes, n, &h->scratch, view, err);
    if (s) {
        source_view_unref(view);
        return err_prefix(err, "%s", h->label);
    }
    if (!h->session || strcmp(h->session, view->session) != 0)
        another_source(h, view->session, deadline_mono_ms);
    view->v2 = h->v2;
    view->read_mono_ms = start / 1000;
    view->took_us = clock_mono_us() - start;
    *ret = view;
    return ST_OK;
}
