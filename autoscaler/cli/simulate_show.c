/*
 * simulate_show.c - see simulate_show.h.
 */
#include "simulate_show.h"

#include <string.h>

#include "table.h"

enum { OWNERS_SHOWN = 8 };

struct show {
    struct table table;
    const struct outcome *o;
    uint32_t n;
    struct arena *arena;
};

static const char *money(struct arena *a, int64_t micros)
{
    return arena_printf(a, "%.2f", (double)micros / 1e6);
}

static const char *percent(struct arena *a, double x)
{
    return x < 0 ? "-" : arena_printf(a, "%.0f %%", x * 100);
}

static const char *wait(struct arena *a, int64_t ms)
{
    return ms < 10000 ? arena_printf(a, "%.1fs", (double)ms / 1000)
                      : span(a, (double)ms / 1000);
}

/* ---- rows: a name, and a cell of each outcome */

static void row(struct show *s, const char *name,
                const char *(*cell)(struct arena *a, const struct outcome *o))
{
    const char *cells[TABLE_COLUMNS] = {name};

    for (uint32_t i = 0; i < s->n; i++)
        cells[i + 1] = cell(s->arena, &s->o[i]);
    table_row(&s->table, PLAIN, cells);
}

static const char *cost(struct arena *a, const struct outcome *o)
{
    return money(a, o->cost_micros);
}

static const char *cost_a_day(struct arena *a, const struct outcome *o)
{
    double days = (double)o->lasted_ms / 86400000;

    return money(a, (int64_t)((double)o->cost_micros / days));
}

static const char *unused(struct arena *a, const struct outcome *o)
{
    return money(a, o->cost_micros - o->shared_micros);
}

static const char *p50(struct arena *a, const struct outcome *o)
{
    return wait(a, o->wait_p50_ms);
}

static const char *p95(struct arena *a, const struct outcome *o)
{
    return wait(a, o->wait_p95_ms);
}

static const char *worst(struct arena *a, const struct outcome *o)
{
    return wait(a, o->wait_worst_ms);
}

static const char *done(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%llu of %llu", (unsigned long long)o->done,
                        (unsigned long long)o->tasks);
}

static const char *again(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%llu", (unsigned long long)o->again);
}

static const char *cpu(struct arena *a, const struct outcome *o)
{
    return percent(a, o->cpu_use);
}

static const char *gpu(struct arena *a, const struct outcome *o)
{
    return percent(a, o->gpu_use);
}

static const char *launches(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%u", o->launched);
}

static const char *ends(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%u", o->ended);
}

static const char *most(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%u", o->most);
}

static const char *faults(struct arena *a, const struct outcome *o)
{
    return arena_printf(a, "%llu", (unsigned long long)o->faults);
}

static bool any_faults(const struct show *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->o[i].faults)
            return true;
    return false;
}

static bool any_again(const struct show *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->o[i].again)
            return true;
    return false;
}

static void totals(struct show *s)
{
    row(s, "cost, dollars", cost);
    row(s, "  a day", cost_a_day);
    row(s, "  of what nobody used", unused);
    row(s, "waited, half of the tasks less than", p50);
    row(s, "  95 of 100 less than", p95);
    row(s, "  at worst", worst);
    row(s, "tasks done", done);
    if (any_again(s))
        row(s, "  begun anew on another machine", again);
    row(s, "CPUs in use", cpu);
    row(s, "GPUs in use", gpu);
    row(s, "launches", launches);
    row(s, "ends", ends);
    row(s, "machines at most", most);
    if (any_faults(s))
        row(s, "calls and machines spoilt", faults);
}

/* ---- parts of the cost */

static const char *offer_name(struct arena *a, const struct out_offer *o)
{
    return arena_printf(a, "%s%s%s%s", o->type, *o->zone ? " " : "", o->zone,
                        o->spot ? " spot" : "");
}

static bool same_offer(const struct out_offer *x, const struct out_offer *y)
{
    return x->spot == y->spot && strcmp(x->type, y->type) == 0 &&
           strcmp(x->zone, y->zone) == 0;
}

static const struct out_offer *offer_in(const struct outcome *o,
                                        const struct out_offer *like)
{
    for (uint32_t i = 0; i < o->n_offers; i++)
        if (same_offer(&o->offers[i], like))
            return &o->offers[i];
    return NULL;
}

static void offer_row(struct show *s, const struct out_offer *like)
{
    const char *cells[TABLE_COLUMNS];
    bool any = false;

    cells[0] = arena_printf(s->arena, "  %s", offer_name(s->arena, like));
    for (uint32_t i = 0; i < s->n; i++) {
        const struct out_offer *x = offer_in(&s->o[i], like);

        cells[i + 1] = x && x->launched ? money(s->arena, x->cost_micros) : "-";
        any = any || (x && x->launched);
    }
    if (any)
        table_row(&s->table, PLAIN, cells);
}

static void heading_row(struct show *s, const char *text)
{
    const char *cells[TABLE_COLUMNS] = {text};

    for (uint32_t i = 0; i < s->n; i++)
        cells[i + 1] = "";
    table_row(&s->table, BOLD, cells);
}

/* Those of every outcome, each once. */
static void by_offer(struct show *s)
{
    heading_row(s, "cost by type, zone and market");
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < s->o[i].n_offers; k++) {
            const struct out_offer *x = &s->o[i].offers[k];
            bool before = false;

            for (uint32_t j = 0; j < i; j++)
                before = before || offer_in(&s->o[j], x);
            if (!before)
                offer_row(s, x);
        }
}

static void by_owner(struct show *s)
{
    heading_row(s, "cost by owner");
    for (uint32_t k = 0; k < s->o[0].n_owners && k < OWNERS_SHOWN; k++) {
        const char *cells[TABLE_COLUMNS];

        cells[0] = arena_printf(s->arena, "  %s", s->o[0].owners[k].name);
        for (uint32_t i = 0; i < s->n; i++)
            cells[i + 1] = money(s->arena, s->o[i].owners[k].cost_micros);
        table_row(&s->table, PLAIN, cells);
    }
    if (s->o[0].n_owners > OWNERS_SHOWN)
        heading_row(s, arena_printf(s->arena, "  and %u more: --json",
                                    s->o[0].n_owners - OWNERS_SHOWN));
}

/* ---- what it rests on */

static void prices(const struct outcome *o, uint32_t n, struct arena *a)
{
    static const char *const headings[] = {"offer", ">price an hour", ">boot",
                                           NULL};
    struct table t;

    table_init(&t, a, headings);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < o[i].n_offers; k++) {
            const struct out_offer *x = &o[i].offers[k];
            const struct out_offer *first = i ? offer_in(&o[0], x) : NULL;
            const char *cells[3];

            if (!x->launched ||
                (first && first->launched &&
                 first->price_micros_hour == x->price_micros_hour))
                continue;
            cells[0] = offer_name(a, x);
            cells[1] = arena_printf(a, "%.4f%s",
                                    (double)x->price_micros_hour / 1e6,
                                    x->estimated ? " estimated" : "");
            cells[2] = span(a, (double)x->boot_ms / 1000);
            table_row(&t, PLAIN, cells);
        }
    puts("\nwith these prices, and boot times on the average:");
    table_print(&t, stdout, 2);
}

void simulate_show_trace(const struct trace *t, uint64_t seed, int64_t boot_ms)
{
    struct arena a = {0};
    int64_t last = t->jobs.v[t->jobs.n - 1].submit_ms;

    printf("%s: %llu tasks in %s (%s), seed %llu, boots of %s where the type "
           "says nothing\n",
           t->path, (unsigned long long)t->tasks, span(&a, (double)last / 1000),
           t->kind, (unsigned long long)seed, span(&a, (double)boot_ms / 1000));
    if (t->never_ran)
        printf("left out: %u that never ran, as nobody knows for how long they "
               "would have\n",
               t->never_ran);
    if (t->cut)
        printf("left out: %u that came before --from or after --to\n", t->cut);
    putchar('\n');
    arena_done(&a);
}

void simulate_show(const struct setting *settings, const struct outcome *o,
                   uint32_t n, struct arena *a)
{
    const char *headings[TABLE_COLUMNS + 1] = {""};
    struct show s = {.o = o, .n = n, .arena = a};

    for (uint32_t i = 0; i < n; i++)
        headings[i + 1] = arena_printf(
            a, ">%s",
            *settings[i].label ? settings[i].label : settings[i].config_path);
    headings[n + 1] = NULL;
    table_init(&s.table, a, headings);
    totals(&s);
    by_offer(&s);
    by_owner(&s);
    table_print(&s.table, stdout, 0);
    prices(o, n, a);
}
