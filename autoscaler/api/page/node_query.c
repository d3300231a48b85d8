/*
 * node_query.c - GET /v1/nodes: what is asked for, and the list (nodes.c).
 */
#include <string.h>

#include "../../model/state.h"
#include "../inside.h"

static const char *const group_names[] = {"", "type", "state", "zone",
                                          "reason"};
static const char *const sort_names[] = {"", "id", "price", "age", "state"};

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

static bool query_read(struct exchange *ex, struct node_query *q)
{
    int group, sort;

    *q = (struct node_query){.type = given(ex, "type"),
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
    q->group = (enum node_group)group;
    q->sort = (enum node_sort)sort;
    if (!number_of(ex, "offset", &q->offset) ||
        !number_of(ex, "limit", &q->limit))
        return false;
    q->offset = q->offset < 0 ? 0 : q->offset;
    return true;
}

static bool write_nodes(struct out *o, struct view *v, struct exchange *ex)
{
    struct node_query q;

    query_read(ex, &q); /* it was good: get_nodes() */
    node_list_write(o, v, &q);
    return true;
}

void get_nodes(struct exchange *ex)
{
    static const char *const keys[] = {"type", "state", "zone",   "reason", "q",
                                       "sort", "group", "offset", "limit"};
    bool whole = true;
    struct node_query q;

    if (!query_read(ex, &q))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        whole = whole && !exchange_query(ex, keys[i]);
    ex->by_tick = exchange_query(ex, "limit"); /* the page's */
    if (whole)
        reply_cached(ex, ex->server->nodes, write_nodes);
    else
        reply_view(ex, write_nodes, NULL);
}
