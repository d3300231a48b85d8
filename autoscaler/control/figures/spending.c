/*
 * spending.c - see spending.h.
 *
 * In the journal: a line for each series, of the family's number in kept[], its
 * label values and billionths of a dollar, with tabs between them.
 */
#include "spending.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/buf.h"

enum { SAVE_MS = 60000, HOUR_MS = 3600000 };
#define VALUE_KEY "spent"
#define VALUE_MAX ((size_t)256 << 10)

static const enum figure kept[] = {FIGURE_SPENT, FIGURE_OWNER_SPENT,
                                   FIGURE_IDLE_SPENT};
enum { KEPT = sizeof kept / sizeof *kept };

static uint32_t labels_of(enum figure f)
{
    uint32_t n = 0;

    while (n < FIGURE_LABELS && figure_about(f)->label[n])
        n++;
    return n;
}

/* ---- whose series */

static void name_add(struct spending *p, const char *owner, const char *share)
{
    VEC_PUSH(NULL, &p->named,
             ((struct spending_owner){mem_strdup(owner), mem_strdup(share)}));
}

/* The owner, or FIGURE_OTHER: nobody who asks comes to have more series than he leaves
 * for others. */
static const char *series_of(struct spending *p, const struct bill_owner *w)
{
    const char *share = w->asked_by && *w->asked_by ? w->asked_by : w->owner;
    uint32_t his = 0, most = figure_about(FIGURE_OWNER_SPENT)->most - 1;

    for (uint32_t i = 0; i < p->named.n; i++) {
        struct spending_owner *x = &p->named.v[i];

        if (strcmp(x->owner, w->owner) == 0) {
            if (strcmp(x->share, share) != 0) {
                free(x->share);
                x->share = mem_strdup(share);
            }
            return w->owner;
        }
        his += strcmp(x->share, share) == 0;
    }
    if (p->named.n >= most || his >= most - p->named.n)
        return FIGURE_OTHER;
    name_add(p, w->owner, share);
    return w->owner;
}

/* ---- the journal's value */

static void line_read(struct spending *p, struct figures *t, char *line)
{
    const char *field[FIGURE_LABELS + 2];
    uint32_t n = 0, which;
    char *end, *save = NULL;

    for (char *at = line; at && n < FIGURE_LABELS + 2; at = save) {
        save = strchr(at, '\t');
        if (save)
            *save++ = '\0';
        field[n++] = at;
    }
    which = n ? (uint32_t)strtoul(field[0], &end, 10) : KEPT;
    if (which >= KEPT || n != labels_of(kept[which]) + 2)
        return; /* of another version */
    if (kept[which] == FIGURE_OWNER_SPENT &&
        strcmp(field[1], FIGURE_OTHER) != 0)
        name_add(p, field[1], "");
    figure_spend(t, kept[which], strtoll(field[n - 1], &end, 10), field + 1);
}

void spending_open(struct spending *p, struct env *env)
{
    const char *text;
    char *save = NULL, *copy;

    *p = (struct spending){.env = env};
    if (journal_value(env->journal, VALUE_KEY, &p->arena, &text, NULL) != ST_OK)
        return;
    copy = arena_strdup(&p->arena, text);
    for (char *line = strtok_r(copy, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        line_read(p, &env->metrics.figures, line);
    arena_reset(&p->arena);
}

/* What a field may not have: then the series is not kept. */
static bool is_plain(const char *s)
{
    return !strpbrk(s, "\t\n");
}

static void series_write(struct buf *b, uint32_t which,
                         const struct figure_series *s)
{
    uint32_t n = labels_of(kept[which]);

    for (uint32_t i = 0; i < n; i++)
        if (!is_plain(s->label[i]))
            return;
    buf_printf(b, "%u\t", which);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b, "%s\t", s->label[i]);
    buf_printf(b, "%lld\n", (long long)s->sum);
}

void spending_text(struct figures *t, struct buf *b)
{
    struct arena a = {0};

    for (uint32_t i = 0; i < KEPT; i++) {
        const struct figure_series *v;
        uint32_t n = figures_take(t, kept[i], &a, &v);

        for (uint32_t k = 0; k < n; k++)
            series_write(b, i, &v[k]);
    }
    arena_done(&a);
}

static void save(struct spending *p)
{
    struct buf b;

    if (!p->more || !p->env->journal)
        return;
    buf_init(&b, VALUE_MAX);
    spending_text(&p->env->metrics.figures, &b);
    if (!b.full)
        journal_put_value(p->env->journal, VALUE_KEY, b.s, NULL);
    p->saved_ms = p->env->mono_ms;
    p->more = false;
    buf_done(&b);
}

/* ---- paying */

static int64_t nanos_of(int64_t micros_hour, int64_t ms)
{
    return (int64_t)((double)micros_hour * (double)ms * 1000 / HOUR_MS);
}

static void pay(struct spending *p, int64_t ms)
{
    struct figures *t = &p->env->metrics.figures;
    const struct bill *b = &p->bill;

    for (uint32_t i = 0; i < b->n_offers; i++) {
        const struct bill_offer *o = &b->offers[i];

        figure_spend(t, FIGURE_SPENT, nanos_of(o->micros_hour, ms),
                     FIGURE_LABELS_(o->type, o->provider,
                                    o->spot ? "spot" : "on-demand"));
    }
    for (uint32_t i = 0; i < b->n_owners; i++)
        figure_spend(t, FIGURE_OWNER_SPENT,
                     nanos_of(b->owners[i].micros_hour, ms),
                     FIGURE_LABELS_(series_of(p, &b->owners[i])));
    if (b->n_offers)
        figure_spend(t, FIGURE_IDLE_SPENT, nanos_of(b->idle_micros_hour, ms),
                     FIGURE_LABELS_(""));
    p->more = p->more || b->micros_hour > 0;
}

/* It is paid until the next page comes, whose snapshot it must outlive. */
static void bill_keep(struct spending *p, const struct bill *b)
{
    struct bill_offer *o;
    struct bill_owner *w;

    arena_reset(&p->arena);
    p->bill = *b;
    o = arena_copy(&p->arena, b->offers, b->n_offers * sizeof *o);
    w = arena_copy(&p->arena, b->owners, b->n_owners * sizeof *w);
    for (uint32_t i = 0; i < b->n_offers; i++) {
        o[i].type = arena_strdup(&p->arena, o[i].type);
        o[i].provider = arena_strdup(&p->arena, o[i].provider);
    }
    for (uint32_t i = 0; i < b->n_owners; i++) {
        w[i].owner = arena_strdup(&p->arena, w[i].owner);
        if (w[i].asked_by)
            w[i].asked_by = arena_strdup(&p->arena, w[i].asked_by);
    }
    p->bill.offers = o;
    p->bill.owners = w;
}

void spending_page(struct spending *p, const struct status_page *page)
{
    struct arena scratch = {0};
    int64_t now = p->env->mono_ms;
    struct bill b;

    if (p->since_ms)
        pay(p, now - p->since_ms);
    bill_make(page->snapshot, page->now, page->plan, false, &scratch, &b);
    bill_keep(p, &b);
    arena_done(&scratch);
    p->since_ms = now;
    if (now - p->saved_ms >= SAVE_MS)
        save(p);
}

void spending_close(struct spending *p)
{
    if (p->since_ms)
        pay(p, p->env->mono_ms - p->since_ms);
    p->since_ms = 0;
    save(p);
    arena_done(&p->arena);
    for (uint32_t i = 0; i < p->named.n; i++) {
        free(p->named.v[i].owner);
        free(p->named.v[i].share);
    }
    free(p->named.v);
    memset(&p->named, 0, sizeof p->named);
}
