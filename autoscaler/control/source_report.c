/*
 * source_report.c - what `ray status` shows of us.
 */
#include <string.h>

#include "../base/clock.h"
#include "../base/text.h"
#include "sources.h"

enum {
    WRITE_TIMEOUT_MS = 10000,
    REPORT_MS = 5000,          /* refreshed at least so often */
};

static struct qtys row_words(const struct problem *s, uint32_t row,
                             struct arena *a)
{
    const int64_t *amounts = pb_row(s, row);
    VEC(struct qty) v = {0};

    for (uint32_t i = 0; i < s->n_columns; i++)
        if (amounts[i])
            VEC_PUSH(a, &v, ((struct qty){s->str[s->columns[i].name],
                                          amounts[i]}));
    return (struct qtys){v.v, v.n};
}

static struct terms selector_words(const struct problem *s, uint32_t selector,
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

/* The head's own demand that no type could ever hold, in words again. */
static uint32_t infeasible_words(const struct status_page *page,
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
            const struct pb_shape *shape = &s->shapes[s->alts[sb->first_alt].shape];
            struct snap_alt *alt;

            if (!page->plan->bundles[b].infeasible)
                continue;
            alt = ARENA_NEW(a, struct snap_alt);
            alt->resources = row_words(s, shape->row, a);
            alt->selector = selector_words(s, shape->selector, a);
            VEC_PUSH(a, &bundles,
                     ((struct snap_bundle){
                         alt, 1, page->plan->bundles[b].infeasible}));
        }
        if (bundles.n)
            VEC_PUSH(a, &v,
                     ((struct snap_demand){
                         .source = dem->source, .strategy = dem->strategy,
                         .owner = "ray", .id = arena_strdup(a, s->str[dem->id]),
                         .bundles = bundles.v, .n_bundles = bundles.n}));
    }
    *ret = v.v;
    return v.n;
}

static uint64_t mix(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h * 31;
}

static void report_to(struct control *c, struct source *h,
                      const struct status_page *page)
{
    struct source_job *j;
    struct source_report *r;
    struct snap_demand *infeasible;
    VEC(struct source_pending) pending = {0};
    VEC(struct source_failed) failed = {0};
    uint64_t hash = 1469598103934665603u;

    if (!h->ops->report || !source_is_free(h) || !h->view || h->failures)
        return;
    j = source_job_new(h, SOURCE_REPORT, WRITE_TIMEOUT_MS);
    r = &j->report;
    for (uint32_t i = 0; i < c->fleet.n; i++) {
        const struct machine *m = c->fleet.v[i];
        if (m->state > STATE_STARTING)
            continue;
        VEC_PUSH(&j->arena, &pending,
                 ((struct source_pending){
                     arena_strdup(&j->arena, m->type), "",
                     arena_strdup(&j->arena, m->id),
                     arena_strdup(&j->arena, m->address),
                     arena_strdup(&j->arena, state_name(m->state))}));
        hash = mix(mix(hash, m->id), state_name(m->state));
    }
    for (uint32_t i = 0; i < c->n_failures && i < FAILURES_KEPT; i++) {
        const struct failure_note *f = &c->failures[i];
        char *why = arena_printf(&j->arena, "%s: %s", status_name(f->why),
                                 f->text);

        text_clean(why, strlen(why));  /* cut within a letter: no protobuf */
        VEC_PUSH(&j->arena, &failed,
                 ((struct source_failed){
                     arena_strdup(&j->arena, f->type), "",
                     why,
                     f->at_ms / 1000, f->at_ms / 1000, 1}));
        hash = mix(hash + (uint64_t)f->at_ms, f->machine);
    }
    r->n_infeasible = infeasible_words(page, &j->arena, &infeasible);
    for (uint32_t d = 0; d < r->n_infeasible; d++)
        for (uint32_t b = 0; b < infeasible[d].n_bundles; b++)
            hash = hash * 31 + infeasible[d].bundles[b].count;
    if (hash == h->reported_hash &&
        clock_mono_ms() - h->reported_ms < REPORT_MS) {
        source_job_free(j);
        return;
    }
    r->seen_version = h->view->version;
    r->version = c->now_ms;
    r->pending = pending.v;
    r->n_pending = pending.n;
    r->failed = failed.v;
    r->n_failed = failed.n;
    r->infeasible = infeasible;
    h->reported_hash = hash;
    h->reported_ms = clock_mono_ms();
    source_job_submit(j);
}

void sources_report(struct control *c, const struct status_page *page)
{
    for (uint32_t i = 0; i < c->n_sources; i++)
        report_to(c, &c->sources[i], page);
}
