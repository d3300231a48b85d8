/*
 * whatif_diff.c - what two plans do differently; see whatif.h.
 */
#include <string.h>

#include "whatif.h"

static const char *text_at(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static json_int_t count_at(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

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
            if (strcmp(text_at(e, "type"), text_at(l, "type")) == 0 &&
                strcmp(text_at(e, "zone"), text_at(l, "zone")) == 0 &&
                json_is_true(json_object_get(e, "spot")) ==
                    json_is_true(json_object_get(l, "spot")))
                sum = e;
        if (!sum) {
            sum = json_pack("{s:s,s:s,s:b,s:i,s:i}", "type", text_at(l, "type"),
                            "zone", text_at(l, "zone"), "spot",
                            json_is_true(json_object_get(l, "spot")), "before",
                            0, "after", 0);
            json_array_append_new(sums, sum);
        }
        json_object_set_new(
            sum, when,
            json_integer(count_at(sum, when) + count_at(l, "count")));
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

        if (count_at(e, "before") == count_at(e, "after"))
            json_array_remove(sums, i);
        else
            i++;
    }
    return sums;
}

static void node_put(json_t *by_id, const json_t *n, const char *when,
                     const char *why)
{
    json_t *e = json_object_get(by_id, text_at(n, "id"));

    if (!e) {
        e = json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", text_at(n, "id"), "before",
                      "", "after", "", "why_before", "", "why_after", "");
        json_object_set_new(by_id, text_at(n, "id"), e);
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
        if (strcmp(text_at(n, "before"), text_at(n, "after")) != 0 ||
            strcmp(text_at(n, "why_before"), text_at(n, "why_after")) != 0)
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
        waiting += count_at(b, "waiting");
        infeasible += count_at(b, "infeasible");
    }
    json_object_set(o, "launched", json_object_get(plan, "launched"));
    json_object_set(o, "ended", json_object_get(plan, "ended"));
    json_object_set_new(o, "waiting", json_integer(waiting));
    json_object_set_new(o, "infeasible", json_integer(infeasible));
    json_object_set(o, "cost_per_hour", json_object_get(plan, "cost_per_hour"));
    return o;
}

json_t *whatif_diff(const json_t *before, const json_t *after)
{
    return json_pack("{s:b,s:o,s:o,s:o,s:o}", "same", json_equal(before, after),
                     "launches", launches_diff(before, after), "nodes",
                     nodes_diff(before, after), "before", sums(before), "after",
                     sums(after));
}

static void count_print(FILE *out, const json_t *diff, const char *key,
                        const char *what)
{
    json_int_t a = count_at(json_object_get(diff, "before"), key);
    json_int_t b = count_at(json_object_get(diff, "after"), key);

    if (a != b)
        fprintf(out, "%-14s %lld -> %lld\n", what, (long long)a, (long long)b);
}

static double cost_of(const json_t *diff, const char *when)
{
    return json_number_value(
        json_object_get(json_object_get(diff, when), "cost_per_hour"));
}

void whatif_print(const json_t *diff, FILE *out)
{
    double before = cost_of(diff, "before"), after = cost_of(diff, "after");
    const json_t *e;
    size_t i;

    json_array_foreach(json_object_get(diff, "launches"), i, e)
        fprintf(out, "launch  %-24s %-12s %-10s %lld -> %lld\n",
                text_at(e, "type"), text_at(e, "zone"),
                json_is_true(json_object_get(e, "spot")) ? "spot" : "on-demand",
                (long long)count_at(e, "before"),
                (long long)count_at(e, "after"));
    json_array_foreach(json_object_get(diff, "nodes"), i, e)
        fprintf(out, "node    %-24s %s (%s) -> %s (%s)\n", text_at(e, "id"),
                text_at(e, "before"), text_at(e, "why_before"),
                text_at(e, "after"), text_at(e, "why_after"));
    count_print(out, diff, "launched", "to launch");
    count_print(out, diff, "ended", "to end");
    count_print(out, diff, "waiting", "waiting");
    count_print(out, diff, "infeasible", "infeasible");
    if (before != after) {
        fprintf(out, "%-14s %.4f/h -> %.4f/h", "new machines", before, after);
        if (before > 0)
            fprintf(out, " (%+.1f %%)", (after - before) * 100 / before);
        fputc('\n', out);
    }
    if (json_is_true(json_object_get(diff, "same")))
        fputs("no difference\n", out);
    else if (!json_array_size(json_object_get(diff, "launches")) &&
             !json_array_size(json_object_get(diff, "nodes")))
        fputs("the same actions; only what lies where or why differs\n", out);
}
