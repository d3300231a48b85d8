/*
 * whatif_diff.c - what two plans do differently; see whatif.h.
 */
#include <string.h>

#include "client.h"
#include "look/text.h"
#include "whatif.h"

/* Launches are summed by offer: how they are bundled is no difference. */
static void launches_sum(json_t *sums, const json_t *plan, const char *when)
{
    const json_t *launches = json_object_get(plan, "launches");
    size_t i;
    json_t *l;

    json_array_foreach((json_t *)launches, i, l) {
        json_t *sum = NULL, *e;
        size_t k;

        json_array_foreach(sums, k, e)
            if (strcmp(text_of(e, "type"), text_of(l, "type")) == 0 &&
                strcmp(text_of(e, "zone"), text_of(l, "zone")) == 0 &&
                flag_of(e, "spot") == flag_of(l, "spot"))
                sum = e;
        if (!sum) {
            sum = json_pack("{s:s,s:s,s:b,s:i,s:i}", "type", text_of(l, "type"),
                            "zone", text_of(l, "zone"), "spot",
                            flag_of(l, "spot"), "before", 0, "after", 0);
            json_array_append_new(sums, sum);
        }
        json_object_set_new(
            sum, when,
            json_integer(count_of(sum, when) + count_of(l, "count")));
    }
}

static json_t *launches_diff(const json_t *before, const json_t *after)
{
    json_t *sums = json_array();
    size_t i = 0;

    launches_sum(sums, before, "before");
    launches_sum(sums, after, "after");
    while (i < json_array_size(sums)) {
        const json_t *e = json_array_get(sums, i);

        if (count_of(e, "before") == count_of(e, "after"))
            json_array_remove(sums, i);
        else
            i++;
    }
    return sums;
}

static void node_put(json_t *by_id, const json_t *n, const char *when,
                     const char *why)
{
    json_t *e = json_object_get(by_id, text_of(n, "id"));

    if (!e) {
        e = json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", text_of(n, "id"), "before",
                      "", "after", "", "why_before", "", "why_after", "");
        json_object_set_new(by_id, text_of(n, "id"), e);
    }
    json_object_set(e, when, json_object_get(n, "action"));
    json_object_set(e, why, json_object_get(n, "why"));
}

static json_t *nodes_diff(const json_t *before, const json_t *after)
{
    json_t *by_id = json_object(), *list = json_array(), *n;
    const char *id;
    size_t i;

    json_array_foreach(json_object_get(before, "nodes"), i, n)
        node_put(by_id, n, "before", "why_before");
    json_array_foreach(json_object_get(after, "nodes"), i, n)
        node_put(by_id, n, "after", "why_after");
    json_object_foreach(by_id, id, n)
        if (strcmp(text_of(n, "before"), text_of(n, "after")) != 0 ||
            strcmp(text_of(n, "why_before"), text_of(n, "why_after")) != 0)
            json_array_append(list, n);
    json_decref(by_id);
    return list;
}

static json_t *sums(const json_t *plan)
{
    json_int_t waiting = 0, infeasible = 0;
    json_t *o = json_object(), *b;
    size_t i;

    json_array_foreach(json_object_get(plan, "bundles"), i, b) {
        waiting += count_of(b, "waiting");
        infeasible += count_of(b, "infeasible");
    }
    json_object_set(o, "launched", json_object_get(plan, "launched"));
    json_object_set(o, "ended", json_object_get(plan, "ended"));
    json_object_set_new(o, "waiting", json_integer(waiting));
    json_object_set_new(o, "infeasible", json_integer(infeasible));
    json_object_set(o, "cost_per_hour", json_object_get(plan, "cost_per_hour"));
    return o;
}

/* What is decided, without how good it is shown to be and what that took: another
 * version of Davit may show more. */
static json_t *decided(const json_t *plan)
{
    static const char *const shown[] = {"lower_bound", "gap_percent", "fleet",
                                        "certificate", "work"};
    json_t *v = json_deep_copy(plan), *node;
    size_t i;

    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
        json_object_del(v, shown[k]);
    json_array_foreach(json_object_get(v, "nodes"), i, node)
        json_object_del(node, "price_per_hour");
    return v;
}

static bool same_decisions(const json_t *before, const json_t *after)
{
    json_t *a = decided(before), *b = decided(after);
    bool same = json_equal(a, b);

    json_decref(a);
    json_decref(b);
    return same;
}

json_t *whatif_diff(const json_t *before, const json_t *after)
{
    return json_pack("{s:b,s:o,s:o,s:o,s:o}", "same",
                     same_decisions(before, after), "launches",
                     launches_diff(before, after), "nodes",
                     nodes_diff(before, after), "before", sums(before), "after",
                     sums(after));
}

static void count_print(FILE *out, const json_t *diff, const char *key,
                        const char *what)
{
    int64_t a = count_of(json_object_get(diff, "before"), key);
    int64_t b = count_of(json_object_get(diff, "after"), key);

    if (a != b)
        fprintf(out, "%-14s %lld -> %lld\n", what, (long long)a, (long long)b);
}

void whatif_print(const json_t *diff, FILE *out)
{
    double before = number_of(json_object_get(diff, "before"), "cost_per_hour");
    double after = number_of(json_object_get(diff, "after"), "cost_per_hour");
    struct arena a = {0};
    const json_t *e;
    size_t i;

    json_array_foreach(json_object_get(diff, "launches"), i, e)
        fprintf(
            out, "launch  %-24s %-12s %-10s %lld -> %lld\n", text_of(e, "type"),
            text_of(e, "zone"), flag_of(e, "spot") ? "spot" : "on-demand",
            (long long)count_of(e, "before"), (long long)count_of(e, "after"));
    json_array_foreach(json_object_get(diff, "nodes"), i, e)
        fprintf(out, "node    %-24s %s (%s) -> %s (%s)\n", text_of(e, "id"),
                text_of(e, "before"), text_of(e, "why_before"),
                text_of(e, "after"), text_of(e, "why_after"));
    count_print(out, diff, "launched", "to launch");
    count_print(out, diff, "ended", "to end");
    count_print(out, diff, "waiting", "waiting");
    count_print(out, diff, "infeasible", "infeasible");
    if (before != after) {
        fprintf(out, "%-14s %s/h -> %s/h", "new machines", dollars(&a, before),
                dollars(&a, after));
        if (before > 0)
            fprintf(out, " (%+.1f %%)", (after - before) * 100 / before);
        fputc('\n', out);
    }
    if (flag_of(diff, "same"))
        fputs("no difference\n", out);
    else if (!json_array_size(json_object_get(diff, "launches")) &&
             !json_array_size(json_object_get(diff, "nodes")))
        fputs("the same actions; only what lies where or why differs\n", out);
    arena_done(&a);
}
