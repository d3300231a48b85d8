/*
 * nodes.c - GET /v1/nodes: a list of nodes, searched, sorted and cut into pages,
 * or their groups.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/state.h"
#include "../inside.h"

enum group { GROUP_NONE, GROUP_TYPE, GROUP_STATE, GROUP_ZONE, GROUP_REASON };
static const char *const group_names[] = {"", "type", "state", "zone",
                                          "reason"};

enum sort { SORT_NONE, SORT_ID, SORT_PRICE, SORT_AGE, SORT_STATE };
static const char *const sort_names[] = {"", "id", "price", "age", "state"};

struct query {
    const char *type, *state, *zone, *reason, *text; /* NULL: any */
    enum sort sort;
    enum group group;
    int64_t offset, limit; /* limit -1: all */
};

/* The query's word as its place among n names; -1: a refusal is written. */
static int word_of(struct exchange *ex, const char *key,
                   const char *const *names, int n, const char *allowed)
{
    const char *word = exchange_query(ex, key);

    if (!word || !*word)
        return 0;
    for (int i = 1; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    exchange_error(ex, 400, "INVALID", key, "must be %s, got \"%.40s\"",
                   allowed, word);
    return -1;
}

static bool number_of(struct exchange *ex, const char *key, int64_t *ret)
{
    *ret = exchange_number(exchange_query(ex, key));
    if (*ret != -2)
        return true;
    exchange_error(ex, 400, "INVALID", key, "must be a whole number");
    return false;
}

static const char *given(struct exchange *ex, const char *key)
{
    const char *text = exchange_query(ex, key);

    return text && *text ? text : NULL;
}

static bool query_read(struct exchange *ex, struct query *q)
{
    int group, sort;

    *q = (struct query){.type = given(ex, "type"),
                        .state = given(ex, "state"),
                        .zone = exchange_query(ex, "zone"),
                        .reason = given(ex, "reason"),
                        .text = given(ex, "q")};
    if (q->state && state_from_name(q->state) == STATE_COUNT) {
        exchange_error(
            ex, 400, "INVALID", "state",
            "must be intended, requested, starting, ready, draining, stopping "
            "or gone, got \"%.40s\"",
            q->state);
        return false;
    }
    group = word_of(ex, "group", group_names, 5, "type, state, zone or reason");
    if (group < 0)
        return false;
    sort = word_of(ex, "sort", sort_names, 5, "id, price, age or state");
    if (sort < 0)
        return false;
    q->group = (enum group)group;
    q->sort = (enum sort)sort;
    if (!number_of(ex, "offset", &q->offset) ||
        !number_of(ex, "limit", &q->limit))
        return false;
    q->offset = q->offset < 0 ? 0 : q->offset;
    return true;
}

/* ---- which */

/* Is it part of the text, in capitals or not? */
static bool has(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static const char *reason_of(const struct view *v, uint32_t row)
{
    const struct plan_node *p = view_verdict(v, row);

    return reason_code(p ? p->why : REASON_NONE);
}

static bool for_owner(const struct view *v, uint32_t row, const char *part)
{
    const struct plan_node *p = view_verdict(v, row);

    for (uint32_t i = 0; p && i < p->n_placements; i++) {
        uint32_t bundle = v->plan->placements[p->first_placement + i].bundle;

        if (has(view_str(v, v->s->demands[v->s->bundles[bundle].demand].owner),
                part))
            return true;
    }
    return false;
}

static bool matches(const struct view *v, uint32_t row, const struct query *q)
{
    const struct snap_node *n = &v->snapshot->nodes[row];

    if ((q->type && strcmp(n->type, q->type) != 0) ||
        (q->state && strcmp(state_name(n->state), q->state) != 0) ||
        (q->zone && strcmp(n->zone, q->zone) != 0) ||
        (q->reason && strcmp(reason_of(v, row), q->reason) != 0))
        return false;
    return !q->text || has(n->id, q->text) || has(n->type, q->text) ||
           has(n->zone, q->text) || has(n->provider, q->text) ||
           has(n->cloud_id, q->text) || has(n->address, q->text) ||
           has(n->ray_id, q->text) || has(state_name(n->state), q->text) ||
           for_owner(v, row, q->text);
}

/* ---- in which order */

struct row {
    int64_t key;
    const char *id;
    uint32_t row;
};

static int64_t key_of(const struct view *v, uint32_t row, enum sort sort)
{
    const struct snap_node *n = &v->snapshot->nodes[row];

    switch (sort) {
    case SORT_PRICE: return -view_node_price(v, row);
    case SORT_AGE: return n->created_ms;
    case SORT_STATE: return n->state;
    default: return 0;
    }
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return strcmp(x->id, y->id);
}

static struct row *find(struct view *v, const struct query *q, uint32_t *ret_n)
{
    struct row *all = ARENA_ARRAY(&v->arena, struct row, v->snapshot->n_nodes);
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        if (matches(v, i, q))
            all[n++] = (struct row){key_of(v, i, q->sort),
                                    v->snapshot->nodes[i].id, i};
    if (q->sort != SORT_NONE && n > 1)
        qsort(all, n, sizeof *all, by_key);
    *ret_n = n;
    return all;
}

/* ---- groups */

struct group_sum {
    const char *name;
    uint32_t nodes, by[STATE_COUNT];
    int64_t micros_hour;
};

static const char *group_of(const struct view *v, uint32_t row,
                            enum group group)
{
    const struct snap_node *n = &v->snapshot->nodes[row];

    switch (group) {
    case GROUP_TYPE: return n->type;
    case GROUP_STATE: return state_name(n->state);
    case GROUP_ZONE: return n->zone;
    default: return reason_of(v, row);
    }
}

static int most_first(const void *a, const void *b)
{
    const struct group_sum *x = a, *y = b;

    if (x->nodes != y->nodes)
        return x->nodes > y->nodes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void groups_write(struct out *o, struct view *v, const struct query *q,
                         const struct row *rows, uint32_t n)
{
    VEC(struct group_sum) all = {0};

    for (uint32_t i = 0; i < n; i++) {
        const char *name = group_of(v, rows[i].row, q->group);
        int64_t price = view_node_price(v, rows[i].row);
        enum machine_state state = v->snapshot->nodes[rows[i].row].state;
        uint32_t k = 0;

        while (k < all.n && strcmp(all.v[k].name, name) != 0)
            k++;
        if (k == all.n)
            VEC_PUSH(&v->arena, &all, ((struct group_sum){.name = name}));
        all.v[k].nodes++;
        all.v[k].by[state]++;
        all.v[k].micros_hour += price > 0 && state != STATE_GONE ? price : 0;
    }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof *all.v, most_first);
    out_array(o, "groups");
    for (uint32_t k = 0; k < all.n; k++) {
        out_object(o, NULL);
        out_str(o, "name", all.v[k].name);
        out_uint(o, "nodes", all.v[k].nodes);
        view_states(o, all.v[k].by);
        out_micros(o, "cost_per_hour", all.v[k].micros_hour);
        out_close(o);
    }
    out_close(o);
}

/* ---- the reply */

static bool write_nodes(struct out *o, struct view *v, struct exchange *ex)
{
    struct query q;
    struct row *rows;
    uint32_t n;

    query_read(ex, &q); /* it was good: get_nodes() */
    rows = find(v, &q, &n);
    out_object(o, NULL);
    out_uint(o, "tick", v->page->tick);
    out_uint(o, "total", v->snapshot->n_nodes);
    out_uint(o, "matched", n);
    if (q.group)
        groups_write(o, v, &q, rows, n);
    out_array(o, "nodes");
    for (int64_t i = q.offset; i < n && !q.group; i++)
        if (q.limit < 0 || i < q.offset + q.limit)
            node_write(o, NULL, v, rows[i].row);
    out_close(o);
    out_close(o);
    return true;
}

void get_nodes(struct exchange *ex)
{
    static const char *const keys[] = {"type", "state", "zone",   "reason", "q",
                                       "sort", "group", "offset", "limit"};
    bool whole = true;
    struct query q;

    if (!query_read(ex, &q))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        whole = whole && !exchange_query(ex, keys[i]);
    if (whole)
        reply_cached(ex, ex->server->nodes, write_nodes);
    else
        reply_view(ex, write_nodes, NULL);
}
