/*
 * ray_status.c - see ray_status.h.
 *
 * Programs cut that text at its headings, so its order and its blanks stay as
 * they are, its quirks too: of several placement groups of one strategy the last
 * one's bundles are shown.  A machine that has not joined is pending; a node
 * without work is idle, also when a request holds it, for Ray knows no better.
 */
#include "ray_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../model/amount.h"
#include "../client.h"

enum { FAILURES_MAX = 20 }; /* AUTOSCALER_MAX_FAILURES_DISPLAYED */

struct counts {
    struct arena arena;
    VEC(const char *) names;
    VEC(uint64_t) n;
};

static void count_add(struct counts *c, const char *name, uint64_t n)
{
    for (uint32_t i = 0; i < c->names.n; i++)
        if (strcmp(c->names.v[i], name) == 0) {
            c->n.v[i] += n;
            return;
        }
    VEC_PUSH(&c->arena, &c->names, arena_strdup(&c->arena, name));
    VEC_PUSH(&c->arena, &c->n, n);
}

/* As Python prints a float: the shortest text that reads back the same. */
static const char *python_float(struct arena *a, double v)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    if (strchr(text, 'e') && fabs(v) < 1e16 && fabs(v) >= 1e-4)
        snprintf(text, sizeof text, "%.0f", v);
    return strpbrk(text, ".en") ? arena_strdup(a, text)
                                : arena_printf(a, "%s.0", text);
}

static const char *memory(struct arena *a, double bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)(INT64_C(1) << 40);

    for (int i = 3; i >= 0; i--, size /= 1024)
        if (bytes >= size)
            return arena_printf(a, "%.2f%s", bytes / size, units[i]);
    return arena_printf(a, "%.0fB", floor(bytes));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

/* "{'CPU': 1.0, 'GPU': 2.0}" */
static const char *bundle_text(struct arena *a, const struct snap_alt *alt)
{
    uint32_t n = alt->resources.n;
    struct qty *v = ARENA_ARRAY(a, struct qty, n + 1);
    const char *text = "{";

    for (uint32_t i = 0; i < n; i++)
        v[i] = alt->resources.v[i];
    qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 0; i < n; i++)
        text = arena_printf(a, "%s%s'%s': %s", text, i ? ", " : "", v[i].name,
                            python_float(a, amount_to_double(v[i].amount)));
    return arena_printf(a, "%s}", text);
}

/* ---- the parts */

/* "2026-03-11 11:12:15.170950": local, without a fraction that is zero. */
static void header_print(const struct snapshot *s, FILE *out)
{
    time_t seconds = (time_t)(s->now_ms / 1000);
    int ms = (int)(s->now_ms % 1000);
    char when[32], rest[16] = "", line[96];
    struct tm tm;

    localtime_r(&seconds, &tm);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    if (ms)
        snprintf(rest, sizeof rest, ".%03d000", ms);
    snprintf(line, sizeof line,
             "======== Autoscaler status: %s%s ========", when, rest);
    fprintf(out, "%s\nNode status\n", line);
    for (size_t i = 0; line[i]; i++)
        fputc('-', out);
    fputc('\n', out);
}

static void separator_print(const struct snapshot *s, FILE *out)
{
    size_t n = strlen("======== Autoscaler status: 2026-03-11 11:12:15 "
                      "========") +
               (s->now_ms % 1000 ? 7 : 0);

    while (n--)
        fputc('-', out);
    fputc('\n', out);
}

static const char *type_name(const struct snap_node *n)
{
    for (uint32_t i = 0; i < n->labels.n; i++)
        if (!*n->type && strcmp(n->labels.v[i].key, "ray.io/node-group") == 0)
            return n->labels.v[i].value;
    return *n->type ? n->type : n->head ? "headgroup" : n->id;
}

static bool joined(const struct snap_node *n)
{
    return n->state == STATE_READY || n->state == STATE_DRAINING;
}

static void nodes_print(const struct snapshot *s, bool idle, FILE *out)
{
    struct counts c = {.names = {0}};

    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (joined(&s->nodes[i]) && (s->nodes[i].idle_ms >= 0) == idle)
            count_add(&c, type_name(&s->nodes[i]), 1);
    fprintf(out, "%s:\n", idle ? "Idle" : "Active");
    for (uint32_t i = 0; i < c.names.n; i++)
        fprintf(out, " %llu %s\n", (unsigned long long)c.n.v[i], c.names.v[i]);
    if (!c.names.n)
        fprintf(out, " (no %s nodes)\n", idle ? "idle" : "active");
    arena_done(&c.arena);
}

static void pending_print(const struct snapshot *s, const json_t *status,
                          FILE *out)
{
    const json_t *list = json_object_get(json_object_get(status, "plan"),
                                         "launches"),
                 *l;
    struct counts c = {.names = {0}};
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(list, i, l)
        count_add(&c, text_of(l, "type"), (uint64_t)count_of(l, "count"));
    for (uint32_t k = 0; k < s->n_nodes; k++)
        if (s->nodes[k].state < STATE_STARTING)
            count_add(&c, s->nodes[k].type, 1);
    fputs("Pending:\n", out);
    for (uint32_t k = 0; k < c.names.n; k++, lines++)
        fprintf(out, " %s, %llu launching\n", c.names.v[k],
                (unsigned long long)c.n.v[k]);
    for (uint32_t k = 0; k < s->n_nodes; k++) {
        const struct snap_node *n = &s->nodes[k];

        if (n->state != STATE_STARTING)
            continue;
        fprintf(out, " %s: %s, starting\n", n->id, n->type);
        lines++;
    }
    if (!lines)
        fputs(" (no pending nodes)\n", out);
    arena_done(&c.arena);
}

/* "2026-11-21T10:11:12.345Z" to "11:11:12" where we are. */
static void clock_of(const char *at, char *ret, size_t size)
{
    struct tm utc = {0}, here;
    time_t t;

    ret[0] = '\0';
    if (!strptime(at, "%Y-%m-%dT%H:%M:%S", &utc))
        return;
    t = timegm(&utc);
    localtime_r(&t, &here);
    strftime(ret, size, "%H:%M:%S", &here);
}

static void failures_print(const json_t *status, FILE *out)
{
    const json_t *list = json_object_get(status, "failures"), *f;
    char when[16];
    size_t i;

    fputs("Recent failures:\n", out);
    json_array_foreach(list, i, f) {
        if (i == FAILURES_MAX)
            break;
        clock_of(text_of(f, "at"), when, sizeof when);
        fprintf(out, " %s: LaunchFailed (latest_attempt: %s)\n",
                text_of(f, "type"), when);
    }
    if (!json_array_size(list))
        fputs(" (no failures)\n", out);
}

/* What all nodes have in all, by name. */
static struct qty *totals(const struct snapshot *s, struct arena *a,
                          uint32_t *ret_n)
{
    VEC(struct qty) all = {0};

    for (uint32_t i = 0; i < s->n_nodes; i++)
        for (uint32_t k = 0; joined(&s->nodes[i]) && k < s->nodes[i].total.n;
             k++) {
            const struct qty *q = &s->nodes[i].total.v[k];
            uint32_t at = 0;

            while (at < all.n && strcmp(all.v[at].name, q->name) != 0)
                at++;
            if (at == all.n)
                VEC_PUSH(a, &all, ((struct qty){q->name, 0}));
            all.v[at].amount = amount_add(all.v[at].amount, q->amount);
        }
    qsort(all.v, all.n, sizeof *all.v, by_name);
    *ret_n = all.n;
    return all.v;
}

static void usage_print(const struct snapshot *s, FILE *out)
{
    struct arena a = {0};
    uint32_t n;
    const struct qty *all = totals(s, &a, &n);

    fputs("Total Usage:\n", out);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = all[i].name;
        int64_t free = 0;
        double total = amount_to_double(all[i].amount), used;

        if (strstr(name, "node:") ||
            strncmp(name, "accelerator_type:", 17) == 0)
            continue;
        for (uint32_t k = 0; k < s->n_nodes; k++)
            if (joined(&s->nodes[k]))
                free = amount_add(free,
                                  qtys_amount(&s->nodes[k].available, name));
        used = amount_to_double(all[i].amount > free ? all[i].amount - free
                                                     : 0);
        if (strcmp(name, "memory") == 0 ||
            strcmp(name, "object_store_memory") == 0)
            fprintf(out, " %s/%s %s\n", memory(&a, used), memory(&a, total),
                    name);
        else
            fprintf(out, " %s/%s %s\n", python_float(&a, used),
                    python_float(&a, total), name);
    }
    fputc('\n', out);
    arena_done(&a);
}

static void requests_print(const struct snapshot *s, FILE *out)
{
    struct arena a = {0};
    uint32_t lines = 0;

    fputs("From request_resources:\n", out);
    for (uint32_t i = 0; i < s->n_demands; i++)
        for (uint32_t k = 0; s->demands[i].source == SOURCE_REQUEST &&
                             k < s->demands[i].n_bundles;
             k++, lines++)
            fprintf(out, " %s: %u from request_resources()\n",
                    bundle_text(&a, &s->demands[i].bundles[k].alts[0]),
                    s->demands[i].bundles[k].count);
    if (!lines)
        fputs(" (none)\n", out);
    arena_done(&a);
}

/* "{'CPU': 1.0} * 2, {'GPU': 1.0} * 1" */
static const char *group_text(struct arena *a, const struct snap_demand *d)
{
    const char *text = "";

    for (uint32_t i = 0; i < d->n_bundles; i++)
        text = arena_printf(a, "%s%s%s * %u", text, i ? ", " : "",
                            bundle_text(a, &d->bundles[i].alts[0]),
                            d->bundles[i].count);
    return text;
}

static uint32_t groups_print(const struct snapshot *s, FILE *out)
{
    const struct snap_demand *last[8] = {NULL};
    enum strategy order[8];
    uint32_t n[8] = {0}, kinds = 0;
    struct arena a = {0};

    for (uint32_t i = 0; i < s->n_demands; i++) {
        const struct snap_demand *d = &s->demands[i];

        if (d->source != SOURCE_GANG || (unsigned)d->strategy >= 8)
            continue;
        if (!n[d->strategy]++)
            order[kinds++] = d->strategy;
        last[d->strategy] = d;
    }
    for (uint32_t i = 0; i < kinds; i++)
        fprintf(out, " %s (%s): %u+ pending placement groups\n",
                group_text(&a, last[order[i]]), strategy_name(order[i]),
                n[order[i]]);
    arena_done(&a);
    return kinds;
}

static void demands_print(const struct snapshot *s, FILE *out)
{
    struct counts c = {.names = {0}};
    uint32_t groups;

    fputs("Pending Demands:\n", out);
    for (uint32_t i = 0; i < s->n_demands; i++)
        for (uint32_t k = 0; (s->demands[i].source == SOURCE_TASK ||
                              s->demands[i].source == SOURCE_POD) &&
                             k < s->demands[i].n_bundles;
             k++) {
            const struct snap_bundle *b = &s->demands[i].bundles[k];

            if (b->alts[0].resources.n) /* Ray does not show empty ones */
                count_add(&c, bundle_text(&c.arena, &b->alts[0]), b->count);
        }
    for (uint32_t i = 0; i < c.names.n; i++)
        fprintf(out, " %s: %llu+ pending tasks/actors\n", c.names.v[i],
                (unsigned long long)c.n.v[i]);
    groups = groups_print(s, out);
    if (!c.names.n && !groups)
        fputs(" (no resource demands)\n", out);
    arena_done(&c.arena);
}

void ray_status_print(const struct snapshot *s, const json_t *status, FILE *out)
{
    header_print(s, out);
    nodes_print(s, false, out);
    nodes_print(s, true, out);
    pending_print(s, status, out);
    failures_print(status, out);
    fputs("\nResources\n", out);
    separator_print(s, out);
    usage_print(s, out);
    requests_print(s, out);
    demands_print(s, out);
}
