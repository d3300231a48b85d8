/*
 * note.c - what cannot be served, as a text for the head's users.
 *
 * It lies under the key __autoscaling_error: `ray status` appends it and every
 * new driver prints it.  It is written only when it changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/buf.h"
#include "../../base/clock.h"
#include "../../model/amount.h"
#include "inside.h"

#define NOTE_KEY "__autoscaling_error"
#define NOTE_HEAD "Infeasible (davit has no way to serve it; it waits):\n"
#define NOTE_PREFIX "Infeasible (davit"
#define NOTE_AGE_MS 30000 /* written again, should the head have forgotten it */
#define MAX_NOTE ((size_t)16 << 10)
#define MAX_LINES 40u

/* As Ray prints a shape: {'CPU': 1.0, 'accelerator_type:T4': 0.001}. */
static void shape_add(struct buf *b, const struct snap_alt *alt)
{
    const char *comma = "";
    char amount[24];
    buf_str(b, "{");
    for (uint32_t i = 0; i < alt->resources.n; i++) {
        const char *s = amount_text(alt->resources.v[i].amount, amount,
                                    sizeof amount);
        buf_printf(b, "%s'%s': %s%s", comma, alt->resources.v[i].name, s,
                   strchr(s, '.') ? "" : ".0");
        comma = ", ";
    }
    for (uint32_t i = 0; i < alt->selector.n; i++) {
        const struct term *t = &alt->selector.v[i];
        const char *type = ray_term_accel(t);
        if (ray_term_is_ours(t))
            continue;
        if (type) {
            buf_printf(b, "%s'accelerator_type:%s': 0.001", comma, type);
        } else {
            buf_printf(b, "%s'%s': '%s", comma, t->key,
                       t->op == TERM_NOT_IN ? "!" : "");
            if (t->values.n > 1)
                buf_str(b, "in(");
            for (uint32_t k = 0; k < t->values.n; k++)
                buf_printf(b, "%s%s", k ? "," : "", t->values.v[k]);
            buf_str(b, t->values.n > 1 ? ")'" : "'");
        }
        comma = ", ";
    }
    buf_str(b, "}");
}

static void bundle_line(struct buf *b, const struct snap_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->n_alts && i < 4; i++) {
        buf_str(b, i ? " or " : "");
        shape_add(b, &bundle->alts[i]);
    }
}

static void why_add(struct buf *b, const struct source_report *r, uint32_t i)
{
    if (r->why && r->why[i] && r->why[i][0])
        buf_printf(b, ": %s", r->why[i]);
    buf_str(b, "\n");
}

static void tasks_add(struct buf *b, const struct source_report *r, uint32_t i)
{
    const struct snap_demand *d = &r->infeasible[i];

    for (uint32_t k = 0; k < d->n_bundles; k++) {
        buf_str(b, " ");
        bundle_line(b, &d->bundles[k]);
        buf_printf(b, ": %u pending tasks/actors", d->bundles[k].count);
        why_add(b, r, i);
    }
}

/* A gang or a request: one line. */
static void whole_add(struct buf *b, const struct source_report *r, uint32_t i)
{
    const struct snap_demand *d = &r->infeasible[i];

    for (uint32_t k = 0; k < d->n_bundles; k++) {
        buf_str(b, k ? ", " : " ");
        bundle_line(b, &d->bundles[k]);
        buf_printf(b, " * %u", d->bundles[k].count);
    }
    if (d->strategy != STRATEGY_NONE)
        buf_printf(b, " (%s)", strategy_name(d->strategy));
    if (d->source == SOURCE_GANG)
        buf_printf(b, ": placement group %s", d->id);
    else
        buf_printf(
            b, ": %s of %s",
            d->source == SOURCE_REQUEST ? "request" : source_name(d->source),
            d->owner);
    why_add(b, r, i);
}

/* "" when there is nothing to say.  On the heap. */
static char *note_make(const struct source_report *r)
{
    struct buf b;
    uint32_t lines = 0, more = 0;

    buf_init(&b, MAX_NOTE);
    if (r->n_infeasible)
        buf_str(&b, NOTE_HEAD);
    for (uint32_t i = 0; i < r->n_infeasible; i++) {
        const struct snap_demand *d = &r->infeasible[i];
        bool tasks = d->source == SOURCE_TASK;
        uint32_t n = tasks ? d->n_bundles : 1;

        if (lines >= MAX_LINES) {
            more += n;
            continue;
        }
        if (tasks)
            tasks_add(&b, r, i);
        else
            whole_add(&b, r, i);
        lines += n;
    }
    if (more)
        buf_printf(&b, " and %u more\n", more);
    if (b.n && b.s[b.n - 1] == '\n')
        b.s[--b.n] = '\0';
    return buf_take(&b);
}

/* What is there may be ours from before a restart, or somebody else's. */
static enum status note_write(struct ray_head *h, const char *note,
                              int64_t deadline_mono_ms, struct err *err)
{
    if (note[0])
        return ray_kv_put(h, NOTE_KEY, note, deadline_mono_ms, err);
    bool ours = h->note;
    if (!ours) {
        const char *there;
        enum status s = ray_kv_get(h, "", NOTE_KEY, deadline_mono_ms, &there,
                                   err);
        if (s)
            return s;
        ours = strncmp(there, NOTE_PREFIX, sizeof NOTE_PREFIX - 1) == 0;
    }
    return ours ? ray_kv_del(h, NOTE_KEY, deadline_mono_ms, err) : ST_OK;
}

enum status ray_note_update(struct ray_head *h, const struct source_report *r,
                            int64_t deadline_mono_ms, struct err *err)
{
    enum status s;
    char *note = note_make(r);
    int64_t now = clock_mono_ms();
    if (h->note && (r->seen_version < h->note_seen_version ||
                    (note[0] && now - h->note_mono_ms > NOTE_AGE_MS))) {
        free(h->note); /* a head that counts from the start is another one */
        h->note = NULL;
    }
    h->note_seen_version = r->seen_version;
    if (h->note && strcmp(h->note, note) == 0) {
        free(note);
        return ST_OK;
    }
    s = note_write(h, note, deadline_mono_ms, err);
    if (s) {
        free(note);
        return s == ST_UNSUPPORTED ? ST_OK : s;
    }
    free(h->note);
    h->note = note;
    h->note_mono_ms = now;
    return ST_OK;
}
