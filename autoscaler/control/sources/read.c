/*
 * read.c - when a source is read, and what a view or a failure leads to.
 *
 * Reads of a Ray head follow one another at 50 times what one takes, between
 * 100 ms and 1 s, so that looking costs the head at most two per cent; sooner
 * when demand waits for a second look, or drained nodes end.  A source that
 * waits for changes itself is read again at once.  A failed read changes
 * nothing in the ledger; it only makes that source's part of the snapshot stale.
 */
#include <stdio.h>
#include <string.h>

#include "inside.h"

enum {
    READ_LEAST_MS = 100,
    READ_MOST_MS = 1000,
    READ_END_MS = 200, /* while drained nodes are about to end */
    END_MS = 10000,
    READ_TIMEOUT_MS = 30000,
    FOLLOWS_MS = READ_TIMEOUT_MS + 10000,
    WAIT_MS = 4000, /* one that waits tells so often that it lives */
    FAILURES_EMITTED = 3,
};

/* A read that does not return makes its source stale, and is told. */
static void read_awaited(const struct sources *s, struct source *h)
{
    if (source_is_fresh(s, h))
        env_wake_wall(s->env, source_stale_ms(h));
    if (h->late_told)
        return;
    if (s->env->mono_ms < h->asked_mono_ms + FOLLOWS_MS) {
        env_wake_mono(s->env, h->asked_mono_ms + FOLLOWS_MS);
        return;
    }
    h->late_told = true;
    snprintf(h->problem, sizeof h->problem,
             "a reading of it has not come back for %d s: nothing is known of "
             "it since",
             FOLLOWS_MS / 1000);
    emit(s->env, "source.down", h->address, "", "%s", h->problem);
}

void sources_poll(struct sources *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct source *h = &s->all[i];

        if (h->reading) {
            read_awaited(s, h);
            continue;
        }
        if (s->env->mono_ms < h->read_due_ms) {
            env_wake_mono(s->env, h->read_due_ms);
            continue;
        }
        h->asked_ms = s->env->now_ms;
        h->asked_mono_ms = s->env->mono_ms;
        h->late_told = false;
        h->asked_slept_ms = s->env->slept_ms;
        source_job_submit(source_job_new(
            h, SOURCE_READ, h->ops->waits ? WAIT_MS : READ_TIMEOUT_MS));
    }
}

void sources_hurry(struct sources *s)
{
    int64_t soon = s->env->mono_ms + READ_LEAST_MS;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].read_due_ms > soon && !s->all[i].failures)
            s->all[i].read_due_ms = soon;
}

static void read_failed(struct sources *s, struct source *h,
                        const struct source_job *j)
{
    int64_t pause;

    h->failures++;
    pause = (int64_t)200 << (h->failures < 6 ? h->failures - 1 : 5);
    h->read_due_ms = s->env->mono_ms + (pause > 5000 ? 5000 : pause);
    snprintf(h->problem, sizeof h->problem, "%s", j->err.text);
    atomic_fetch_add(&s->env->metrics.source_failures, 1);
    if (h->failures == FAILURES_EMITTED ||
        (j->status == ST_AUTH && h->failures == 1))
        emit(s->env, "source.down", h->address, status_name(j->status), "%s",
             j->err.text);
}

/* A drained raylet ends by itself, its container with it, and KubeRay makes
 * another one unless the group was lowered before: that is a matter of about a
 * second. */
static bool nodes_end(const struct sources *s)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        const struct machine *m = s->ledger->fleet.v[i];
        if (m->state == STATE_DRAINING && m->drain_accepted &&
            s->env->now_ms - m->drain_since_ms < END_MS)
            return true;
    }
    return false;
}

static int64_t pause_of(const struct sources *s, const struct source *h)
{
    int64_t pause = h->view->took_us * 50 / 1000;

    if (h->ops->waits)
        return 0;
    if (pause > READ_END_MS && nodes_end(s))
        return READ_END_MS;
    return pause < READ_LEAST_MS  ? READ_LEAST_MS
           : pause > READ_MOST_MS ? READ_MOST_MS
                                  : pause;
}

/* Once, until all of it is looked at again. */
static void crowd_tell(struct sources *s, struct source *h,
                       const struct source_view *v)
{
    bool crowded = v->n_crowded || v->n_names_left;

    if (crowded && !h->crowd_emitted)
        emit(s->env, "head.crowded", h->address, "",
             "it asks for too much at once: %u names of resources that few use "
             "and %u different shapes are left out, and nothing is bought for "
             "them (docs/ray.md, limits)",
             v->n_names_left, v->n_crowded);
    h->crowd_emitted = crowded;
}

static void view_taken(struct sources *s, struct source *h,
                       struct source_job *j)
{
    bool restarted = h->view && source_session_is_other(h->view->session,
                                                        j->view->session);
    struct source_view *before;

    s->env->news = s->env->news || !h->view || h->failures > 0 ||
                   !source_view_same(h->view, j->view);
    if (h->failures >= FAILURES_EMITTED || !h->view || *h->problem)
        emit(s->env, "source.up", h->address, "", "session %s, %u nodes",
             j->view->session, j->view->n_nodes);
    if (!j->view->v2 && !h->v1_emitted) {
        h->v1_emitted = true;
        emit(s->env, "head.v1", h->address, "",
             "started without RAY_enable_autoscaler_v2=1: it hides "
             "request_resources from us, and `ray status` stays empty");
    }
    crowd_tell(s, h, j->view);
    before = h->view;
    h->view = source_view_ref(j->view);
    h->view_ms = s->env->now_ms;
    source_firsts(h, before, s->env->now_ms);
    source_view_unref(before);
    if (h->ops->two_looks)
        lately_look(&h->lately, restarted ? NULL : h->before, h->view,
                    s->env->mono_ms);
    source_index(h);
    source_joins(s, h, restarted);
}

/* A head numbers its answers.  One with the number of the last is an answer from
 * a cache, of a proxy that repeats it or of whatever hangs behind one: however
 * it came about, it tells nothing of now. */
static bool view_is_repeated(const struct source *h,
                             const struct source_view *v)
{
    return h->ops->numbered && v && v->version > 0 && h->view &&
           v->version == h->view->version &&
           strcmp(v->session, h->view->session) == 0;
}

/* The head gave it after the one we have. */
static bool view_is_later(const struct source *h, const struct source_view *v)
{
    return v && v->version > h->view->version &&
           strcmp(v->session, h->view->session) == 0;
}

/* Whether an answer is such a one nobody can say where none came a moment before it:
 * at first, and after an outage, when what hangs behind a cache may repeat one of
 * the hour before that was another client's.  The second says it.  Of one after a
 * read that failed its number does, when the last good one is recent: a head whose
 * every other answer is lost is believed. */
static bool source_moves(const struct sources *s, const struct source *h,
                         const struct source_view *v)
{
    if (v && v->version == 0)
        return true;
    if (!h->view)
        return false;
    if (h->failures == 0)
        return source_age_ms(s, h) < FOLLOWS_MS;
    return source_age_ms(s, h) < RECENT_MS && view_is_later(h, v);
}

/* For the demand that must be in two views. */
static void before_keep(struct source *h)
{
    source_view_unref(h->before);
    h->before = h->view ? source_view_ref(h->view) : NULL;
}

/* Is a machine to end that had not joined, and is looked for in this view?  That
 * it says nothing new is what was waited for. */
static bool first_look_due(const struct sources *s, const struct source *h)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++) {
        const struct machine *m = s->ledger->fleet.v[i];

        if (m->state == STATE_DRAINING && !*m->ray_id &&
            h->asked_ms >= m->drain_since_ms)
            return true;
    }
    return false;
}

/* That nothing has changed was so when it was said: the loop may have stood still since
 * (a log that nobody reads, a commit). */
static int64_t answered_ms(const struct sources *s, const struct source_job *j)
{
    int64_t posted = j->job.mail.posted_ms, now = s->env->now_ms;

    return posted && posted < now ? posted : now;
}

void source_read_folded(struct sources *s, struct source_job *j)
{
    struct source *h = j->source;

    if (j->status == ST_OK && !j->view && h->refused)
        j->view = source_view_ref(h->refused); /* it is as it was */
    if (j->status == ST_OK && !j->view && !h->view)
        j->status = err_set(&j->err, ST_BROKEN, "the head reported nothing");
    if (view_is_repeated(h, j->view))
        j->status = err_set(
            &j->err, ST_BROKEN,
            "it repeats an old answer (number %lld came before): nothing is "
            "known of it since",
            (long long)j->view->version);
    if (j->status == ST_OK && source_is_another(s, h, j->view))
        j->status = err_set(
            &j->err, ST_RETRY,
            "another head answers (session %.80s): none of our machines is a "
            "node of it; `davit apply` says that it is ours",
            j->view->session);
    if (j->status != ST_OK) {
        read_failed(s, h, j);
        s->env->news = true;
        return;
    }
    if (h->ops->two_looks)
        before_keep(h);
    h->moved = source_moves(s, h, j->view);
    if (j->view)
        view_taken(s, h, j);
    else
        source_joins(s, h, false); /* of machines that are known since */
    source_foreign(s, h);
    s->env->news = s->env->news || h->failures > 0 || first_look_due(s, h);
    h->failures = 0;
    h->problem[0] = '\0';
    h->read_ms = s->env->now_ms;
    h->told_ms = answered_ms(s, j);
    h->began_ms = h->asked_ms;
    h->began_slept_ms = h->asked_slept_ms;
    if (h == source_for_machines(s))
        s->ledger->source_read_ms = s->env->now_ms;
    h->read_due_ms = s->env->mono_ms + pause_of(s, h);
    atomic_fetch_add(&s->env->metrics.source_reads, 1);
}
