/*
 * nodes.c - a list of nodes: searched, sorted, cut into pages; or their groups.
 */
#include <stdlib.h>
#include <string.h>

#include "../../model/state.h"
#include "../view.h"

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

static bool matches(const struct view *v, uint32_t row,
                    const struct node_query *q)
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

static int64_t key_of(const struct view *v, uint32_t row, enum node_sort sort)
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

static struct row *find(struct view *v, const struct node_query *q,
                        uint32_t *ret_n)
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
                            enum node_group group)
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

static void groups_write(struct out *o, struct view *v,
                         const struct node_query *q, const struct row *rows,
                         uint32_t n)
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

void node_list_write(struct out *o, struct view *v, const struct node_query *q)
{
    uint32_t n;
    struct row *rows = find(v, q, &n);

    out_object(o, NULL);
    out_uint(o, "tick", v->page ? v->page->tick : 0);
    out_seconds(o, "age_s", view_age_ms(v));
    out_uint(o, "total", v->snapshot->n_nodes);
    out_uint(o, "matched", n);
    if (q->group)
        groups_write(o, v, q, rows, n);
    out_array(o, "nodes");
    for (int64_t i = q->offset; i < n && !q->group; i++)
        if (q->limit < 0 || i - q->offset < q->limit)
            node_write(o, NULL, v, rows[i].row);
    out_close(o);
    out_close(o);
}
