/*
 * report.c - what `ray status` shows of us.
 */
#include <string.h>

#include "../../base/hash.h"
#include "../../base/text.h"
#include "inside.h"

enum { REPORT_MS = 5000 }; /* refreshed at least so often */

static struct qtys row_amounts(const struct problem *s, uint32_t row,
                               struct arena *a)
{
    const int64_t *amounts = pb_row(s, row);
    VEC(struct qty) v = {0};

    for (uint32_t i = 0; i < s->n_columns; i++)
        if (amounts[i])
            VEC_PUSH(a, &v,
                     ((struct qty){s->str[s->columns[i].name], amounts[i]}));
    return (struct qtys){v.v, v.n};
}

static struct terms selector_terms(const struct problem *s, uint32_t selector,
                                   struct arena *a)
{
    const struct pb_selector *sel = &s->selectors[selector];
    struct term *v = ARENA_ARRAY(a, struct term, sel->n_terms);

    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *t = &s->terms[sel->first_term + i];
        const char **values = ARENA_ARRAY(a, const char *, t->n_values);
        for (uint32_t k = 0; k < t->n_values; k++)
            values[k] = s->str[s->term_values[t->first_value + k]];
        v[i] = (struct term){s->str[t->key], t->op, {values, t->n_values}};
    }
    return (struct terms){v, sel->n_terms};
}

/* Ray's own demand that no type could ever hold, by name again. */
static uint32_t infeasible_demands(const struct status_page *page,
                                   struct arena *a, struct snap_demand **ret)
{
    const struct problem *s = page->now;
    VEC(struct snap_demand) v = {0};

    for (uint32_t d = 0; d < s->n_demands; d++) {
        const struct pb_demand *dem = &s->demands[d];
        VEC(struct snap_bundle) bundles = {0};

        if (strcmp(s->str[dem->owner], "ray") != 0)
            continue;
        for (uint32_t i = 0; i < dem->n_bundles; i++) {
            uint32_t b = dem->first_bundle + i;
            const struct pb_bundle *sb = &s->bundles[b];
            const struct pb_shape *shape =
                &s->shapes[s->alts[sb->first_alt].shape];
            struct snap_alt *alt;

            if (!page->plan->bundles[b].infeasible)
                continue;
            alt = ARENA_NEW(a, struct snap_alt);
            alt->resources = row_amounts(s, shape->row, a);
            alt->selector = selector_terms(s, shape->selector, a);
            VEC_PUSH(a, &bundles,
                     ((struct snap_bundle){
                         .alts = alt,
                         .n_alts = 1,
                         .count = page->plan->bundles[b].infeasible}));
        }
        if (bundles.n)
            VEC_PUSH(
                a, &v,
                ((struct snap_demand){.source = dem->source,
                                      .strategy = dem->strategy,
                                      .owner = "ray",
                                      .id = arena_strdup(a, s->str[dem->id]),
                                      .bundles = bundles.v,
                                      .n_bundles = bundles.n}));
    }
    *ret = v.v;
    return v.n;
}

static void pending_write(const struct fleet *f, struct arena *a,
                          struct source_report *r)
{
    VEC(struct source_pending) v = {0};

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        if (m->state > STATE_STARTING)
            continue;
        VEC_PUSH(a, &v,
                 ((struct source_pending){
                     arena_strdup(a, m->type), "", arena_strdup(a, m->id),
                     arena_strdup(a, m->address), state_name(m->state)}));
    }
    r->pending = v.v;
    r->n_pending = v.n;
}

static void failed_write(const struct ledger *l, struct arena *a,
                         struct source_report *r)
{
    VEC(struct source_failed) v = {0};

    for (uint32_t i = 0; i < l->n_failures && i < FAILURES_KEPT; i++) {
        const struct failure_note *f = &l->failures[i];
        char *why = arena_printf(a, "%s: %s", status_name(f->why), f->text);

        text_clean(why, strlen(why)); /* cut within a letter: no protobuf */
        VEC_PUSH(a, &v,
                 ((struct source_failed){arena_strdup(a, f->type), "", why,
                                         f->at_ms / 1000, f->at_ms / 1000, 1}));
    }
    r->failed = v.v;
    r->n_failed = v.n;
}

/* Tells two reports apart. */
static uint64_t report_hash(const struct source_report *r)
{
    uint64_t h = HASH_SEED;

    for (uint32_t i = 0; i < r->n_pending; i++)
        h = hash_text(hash_text(h, r->pending[i].id), r->pending[i].detail);
    for (uint32_t i = 0; i < r->n_failed; i++)
        h = hash_text(hash_number(h, (uint64_t)r->failed[i].failed_s),
                      r->failed[i].reason);
    for (uint32_t d = 0; d < r->n_infeasible; d++)
        for (uint32_t b = 0; b < r->infeasible[d].n_bundles; b++)
            h = hash_number(h, r->infeasible[d].bundles[b].count);
    return h;
}

static void report_to(struct sources *s, struct source *h,
                      const struct status_page *page)
{
    struct source_job *j;
    struct source_report *r;
    struct snap_demand *infeasible;
    struct arena *a;
    uint64_t hash;

    if (!h->ops->report || !source_is_free(h) || !h->view || h->failures)
        return;
    j = source_job_new(h, SOURCE_REPORT, WRITE_TIMEOUT_MS);
    a = &j->arena;
    r = &j->report;
    pending_write(&s->ledger->fleet, a, r);
    failed_write(s->ledger, a, r);
    r->n_infeasible = infeasible_demands(page, a, &infeasible);
    r->infeasible = infeasible;
    hash = report_hash(r);
    if (hash == h->reported_hash &&
        s->env->mono_ms - h->reported_ms < REPORT_MS) {
        source_job_free(j);
        return;
    }
    r->seen_version = h->view->version;
    r->version = s->env->now_ms;
    h->reported_hash = hash;
    h->reported_ms = s->env->mono_ms;
    source_job_submit(j);
}

bool sources_report_due(const struct sources *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct source *h = &s->all[i];

        if (!h->ops->report || !h->reported_ms)
            continue;
        if (s->env->mono_ms - h->reported_ms >= REPORT_MS)
            return true;
        env_wake_mono(s->env, h->reported_ms + REPORT_MS);
    }
    return false;
}

void sources_report(struct sources *s, const struct status_page *page)
{
    for (uint32_t i = 0; i < s->n; i++)
        report_to(s, &s->all[i], page);
}
