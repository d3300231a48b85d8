/*
 * rows.c - see rows.h.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../client.h"
#include "../table.h"
#include "text.h"

enum { BAR = 12, FULL = 90, BUSY = 60 };

const char *const rows_sorts[] = {"name", "type",  "state", "zone",
                                  "age",  "price", "use",   NULL};

const char *bar_text(struct arena *a, double part, int width)
{
    int n = part >= 1 ? width : part > 0 ? (int)(part * width + 0.5) : 0;
    char *text = arena_alloc(a, (size_t)width + 1);

    memset(text, '.', (size_t)width);
    memset(text, '#', (size_t)n);
    return text;
}

/* What its source says is in use; where none tells, what bundles take of it. */
static double in_use(const json_t *node, const char *name)
{
    const json_t *free = json_object_get(node, "available"), *f;
    double sum = 0;
    size_t i;

    if (json_object_size(free))
        return number_of(json_object_get(node, "total"), name) -
               number_of(free, name);
    json_array_foreach(json_object_get(node, "for"), i, f)
        sum += number_of(
                   json_object_get(json_object_get(f, "bundle"), "resources"),
                   name) *
               (double)count_of(f, "count");
    return sum;
}

static double share(const json_t *node, const char *name)
{
    double total = number_of(json_object_get(node, "total"), name);

    return total > 0 ? in_use(node, name) / total : -1;
}

/* Of its GPUs, or of its CPUs where it has none; -1: it is not ready. */
static double row_use(const json_t *node)
{
    double gpu = share(node, "GPU");

    if (strcmp(text_of(node, "state"), "ready") != 0)
        return -1;
    return gpu >= 0 ? gpu : share(node, "CPU");
}

/* ---- which, and in which order */

static bool is_owners(const json_t *node, const char *owner)
{
    const json_t *f;
    size_t i;

    json_array_foreach(json_object_get(node, "for"), i, f)
        if (strcmp(text_of(f, "owner"), owner) == 0)
            return true;
    return false;
}

static bool fits(const json_t *node, const struct rows_query *q)
{
    return (!q->type || strcmp(text_of(node, "type"), q->type) == 0) &&
           (!q->state || strcmp(text_of(node, "state"), q->state) == 0 ||
            strcmp(text_of(node, "use"), q->state) == 0) &&
           (!q->owner || is_owners(node, q->owner));
}

static int by_number(double a, double b)
{
    return (a > b) - (a < b);
}

/* Names upwards; numbers the largest first. */
static int compare(const void *x, const void *y, void *arg)
{
    const json_t *a = *(const json_t *const *)x, *b = *(const json_t *const *)y;
    const struct rows_query *q = arg;
    int r;

    if (strcmp(q->sort, "age") == 0)
        r = by_number(number_of(b, "age_s"), number_of(a, "age_s"));
    else if (strcmp(q->sort, "price") == 0)
        r = by_number(number_of(b, "price_per_hour"),
                      number_of(a, "price_per_hour"));
    else if (strcmp(q->sort, "use") == 0)
        r = by_number(row_use(b), row_use(a));
    else
        r = strcmp(text_of(a, strcmp(q->sort, "name") ? q->sort : "id"),
                   text_of(b, strcmp(q->sort, "name") ? q->sort : "id"));
    r = q->reverse ? -r : r;
    return r ? r : strcmp(text_of(a, "id"), text_of(b, "id"));
}

struct rows rows_of(const json_t *nodes, const struct rows_query *q,
                    struct arena *a)
{
    const json_t *list = json_object_get(nodes, "nodes"), *node;
    struct rows r = {ARENA_ARRAY(a, const json_t *, json_array_size(list) + 1),
                     0};
    size_t i;

    json_array_foreach(list, i, node)
        if (fits(node, q))
            r.v[r.n++] = node;
    if (q->sort && r.n)
        qsort_r(r.v, r.n, sizeof *r.v, compare, (void *)q);
    return r;
}

/* ---- the table */

static const char *used(const json_t *node, const char *name, struct arena *a)
{
    double total = number_of(json_object_get(node, "total"), name);

    if (total <= 0)
        return "-";
    return arena_printf(a, "%s/%s", quantity(a, name, in_use(node, name)),
                        quantity(a, name, total));
}

static enum colour colour_of(const json_t *node)
{
    const json_t *why = json_object_get(node, "why");

    if (strcmp(text_of(node, "state"), "ready") == 0)
        return PLAIN;
    return strcmp(text_of(why, "action"), "end") == 0 ? DIM : YELLOW;
}

/* An unmanaged node's id is Ray's, 56 digits. */
static const char *name_of(const json_t *node, struct arena *a)
{
    return arena_printf(a, "%.*s", flag_of(node, "unmanaged") ? 12 : 64,
                        text_of(node, "id"));
}

static const char *price_of(const json_t *node, struct arena *a)
{
    return json_is_number(json_object_get(node, "price_per_hour"))
               ? dollars(a, number_of(node, "price_per_hour"))
               : "?";
}

static const char *state_of(const json_t *node, struct arena *a)
{
    return arena_printf(a, "%s%s%s", text_of(node, "state"),
                        flag_of(node, "cordoned") ? ",cordoned" : "",
                        flag_of(node, "protected") ? ",protected" : "");
}

uint32_t rows_table(const struct rows *r, bool wide, struct arena *a)
{
    static const char *const narrow[] = {"NODE", "TYPE", "ZONE", "STATE",
                                         ">AGE", ">CPU", ">GPU", ">$/H",
                                         "WHY",  NULL};
    static const char *const all[] = {
        "NODE",    "TYPE",   "ZONE", "STATE", ">AGE",    ">CPU", ">GPU",
        ">MEMORY", "MARKET", ">$/H", "WHY",   "ADDRESS", NULL};
    struct table t;

    table_init(&t, a, wide ? all : narrow);
    for (uint32_t i = 0; i < r->n; i++) {
        const json_t *n = r->v[i];
        const char *type = flag_of(n, "head") ? "(head)" : text_of(n, "type");
        const char *why = text_of(json_object_get(n, "why"), "text");
        const char *name = name_of(n, a), *state = state_of(n, a);
        const char *age = span(a, number_of(n, "age_s"));
        const char *cpu = used(n, "CPU", a), *gpu = used(n, "GPU", a);

        if (wide)
            table_row(
                &t, colour_of(n),
                (const char *[]){name, type, text_of(n, "zone"), state, age,
                                 cpu, gpu, used(n, "memory", a),
                                 flag_of(n, "spot") ? "spot" : "on-demand",
                                 price_of(n, a), why, text_of(n, "address")});
        else
            table_row(&t, colour_of(n),
                      (const char *[]){name, type, text_of(n, "zone"), state,
                                       age, cpu, gpu, price_of(n, a), why});
    }
    return table_print(&t, stdout, 0);
}

/* ---- bars */

static enum colour use_colour(double use)
{
    return use * 100 >= FULL ? GREEN : use * 100 >= BUSY ? YELLOW : PLAIN;
}

uint32_t rows_bars(const struct rows *r, uint32_t most, struct arena *a)
{
    static const char *const columns[] = {
        "NODE", "USE", ">%", "TYPE", ">$/H", "MARKET", "STATE", "WHY", NULL};
    uint32_t shown = r->n < most ? r->n : most;
    struct table t;

    table_init(&t, a, columns);
    for (uint32_t i = 0; i < shown; i++) {
        const json_t *n = r->v[i];
        double use = row_use(n);
        bool ready = strcmp(text_of(n, "state"), "ready") == 0;

        table_row(&t, ready ? use_colour(use) : colour_of(n),
                  (const char *[]){
                      name_of(n, a), use < 0 ? "" : bar_text(a, use, BAR),
                      use < 0 ? "" : arena_printf(a, "%.0f", use * 100),
                      flag_of(n, "head") ? "(head)" : text_of(n, "type"),
                      price_of(n, a), flag_of(n, "spot") ? "spot" : "on-demand",
                      ready ? state_of(n, a)
                            : arena_printf(a, "%s %s", state_of(n, a),
                                           span(a, number_of(n, "age_s"))),
                      text_of(json_object_get(n, "why"), "text")});
    }
    shown = table_print(&t, stdout, 0);
    if (r->n > most)
        printf("and %u node%s more\n", r->n - most,
               r->n - most == 1 ? "" : "s");
    return shown + (r->n > most);
}
