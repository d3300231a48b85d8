/*
 * ledger.c - see ledger.h.
 */
#include "ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../store/keep.h"
#include "../store/mirror.h"
#include "ours.h"
#include "prices/agreed.h"
#include "report/interrupted.h"
#include "settle.h"
#include "type_names.h"

/* A journal that cannot be written is tried again after 1 s, 2 s, ... */
enum { COMMIT_AGAIN_MS = 1000, COMMIT_MOST_MS = 5000 };
enum { LEASE_LOOK_MS = 200 };
enum { PROVES_MS = 300000 }; /* who lives for so long was of use */
#define HEAD_KEY "head/session"
#define FILE_KEY "config/digest"

_Static_assert((int)MAIL_COPY == (int)HA_MAIL, "ha/copy.c posts it");

/* ---- opening */

static void machine_written(void *arg, const struct machine *m,
                            enum machine_state from)
{
    struct ledger *l = arg;

    (void)from;
    assert(!l->committing);
    ((struct machine *)m)->batch = l->batch;       /* ours, all of them */
    journal_put_machine(l->env->journal, m, NULL); /* the commit tells */
}

/* No clock of ours ran between two processes, so an interval that began in an
 * earlier one begins anew: a clock that was set meanwhile must not make
 * machines look late or idle, nor a list older than they are. */
static void machine_loaded(struct machine *m, int64_t now_ms)
{
    if (m->state == STATE_INTENDED)
        m->maybe.doubt = true; /* for all we know its launch has left */
    m->maybe.sent_ms = now_ms; /* lists may lag it as long from here */
    m->maybe.unwatched_ms = TIME_UNWATCHED;
    if (m->state == STATE_STOPPING) {
        m->maybe.end_doubt_ms = now_ms;
        m->maybe.end_sent = true; /* for all we know */
    }
    m->maybe.unasked = m->asked_to_end && m->ready_ms &&
                       m->state == STATE_STARTING && !*m->ray_id;
    m->progress_ms = m->needed_ms = now_ms;
    if (m->created_ms > now_ms)
        m->created_ms = now_ms;
    if (m->since_ms > now_ms)
        m->since_ms = now_ms;
    if (m->ready_ms > now_ms)
        m->ready_ms = now_ms;
    if (m->seen_ms > now_ms)
        m->seen_ms = now_ms;
    if (m->drain_since_ms)
        m->drain_since_ms = now_ms;
    m->hold_until_ms = 0;
}

static void value_open(const struct ledger *l, const char *key, char *ret,
                       size_t size)
{
    struct arena a = {0};
    const char *v = "";

    journal_value(l->env->journal, key, &a, &v, NULL);
    snprintf(ret, size, "%s", v);
    arena_done(&a);
}

static void file_name(uint64_t digest, char ret[20])
{
    snprintf(ret, 20, "%016" PRIx64, digest);
}

void ledger_file_is(struct ledger *l, uint64_t digest)
{
    if (*l->file && !ledger_file_differs(l, digest))
        return;
    file_name(digest, l->file);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, FILE_KEY, l->file, NULL);
}

bool ledger_file_differs(const struct ledger *l, uint64_t digest)
{
    char name[20];

    file_name(digest, name);
    return *l->file && strcmp(l->file, name) != 0;
}

void ledger_head_is(struct ledger *l, const char *session)
{
    if (strcmp(l->head_session, session) == 0)
        return;
    snprintf(l->head_session, sizeof l->head_session, "%s", session);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, HEAD_KEY, l->head_session, NULL);
}

enum status ledger_open(struct ledger *l, struct env *env, struct ha *ha,
                        const char *path, struct err *err)
{
    enum status s;

    *l = (struct ledger){.env = env,
                         .ha = ha,
                         .path = path,
                         .batch = 1,
                         .journal_ok = true,
                         .copy_ok = true};
    fleet_init(&l->fleet);
    l->backoffs = backoffs_new();
    s = journal_open(ha ? JOURNAL_IN_MEMORY : path, env->outside->vfs,
                     &env->journal, err);
    if (s == ST_OK && ha)
        s = ha_restore(ha, env->journal, &env->inbox, err);
    if (s == ST_OK)
        s = journal_load_fleet(env->journal, &l->fleet, err);
    if (s != ST_OK)
        return s;
    l->fleet.on_change = machine_written;
    l->fleet.arg = l;
    fleet_index(&l->fleet);
    for (uint32_t i = 0; i < l->fleet.n; i++)
        machine_loaded(l->fleet.v[i], env->now_ms);
    interrupted_open(l);
    agreed_open(l);
    value_open(l, HEAD_KEY, l->head_session, sizeof l->head_session);
    value_open(l, FILE_KEY, l->file, sizeof l->file);
    return ours_open(l, err);
}

void ledger_close(struct ledger *l)
{
    if (l->env->journal) {
        journal_commit(l->env->journal, NULL);
        journal_close(l->env->journal);
        l->env->journal = NULL;
    }
    ours_close(l);
    type_names_close(l);
    fleet_done(&l->fleet);
    backoffs_free(l->backoffs);
    free(l->unhelped.v);
    free(l->interruptions.v);
    free(l->ended.v);
}

/* ---- machines */

/* What may be unknown of a time that is learnt. */
static int64_t unseen_most(int64_t took_ms)
{
    enum { UNSEEN_MS = 20000, UNSEEN_SHARE = 4 };

    return took_ms > UNSEEN_MS * UNSEEN_SHARE ? took_ms / UNSEEN_SHARE
                                              : UNSEEN_MS;
}

void machine_looked(struct ledger *l, struct machine *m, int64_t before_ms)
{
    int64_t from = before_ms > m->created_ms ? before_ms : m->created_ms;

    if (!m->ready_ms)
        m->maybe.unwatched_ms += l->env->now_ms - from;
}

static void machine_joined_first(struct ledger *l, struct machine *m)
{
    int64_t now = l->env->now_ms;

    m->ready_ms = now;
    backoffs_joined(l->backoffs, machine_offer(m), m->created_ms, now);
    atomic_fetch_add(&l->env->metrics.joined, 1);
    figure_time(&l->env->metrics.figures, FIGURE_READY,
                (now - m->created_ms) * 1000, FIGURE_LABELS_(m->type));
    if (!m->adopted &&
        m->maybe.unwatched_ms <= unseen_most(now - m->created_ms))
        journal_put_boot(l->env->journal, m->type, now - m->created_ms, NULL);
}

/* Its provider is about to be asked to end it. */
static void machine_ending(struct ledger *l, const struct machine *m)
{
    struct figures *t = &l->env->metrics.figures;

    figure_count(t, FIGURE_ENDED, 1,
                 FIGURE_LABELS_(m->type, m->provider, reason_code(m->why)));
    if (m->drain_since_ms)
        figure_time(t, FIGURE_DRAIN,
                    (l->env->now_ms - m->drain_since_ms) * 1000,
                    FIGURE_LABELS_(m->type));
}

static void would_end(struct ledger *l, const struct machine *m)
{
    char text[128];

    shadow_counted(l->env->shadow, 0, 1);
    emit(l->env, "would.end", m->id, reason_code(m->why),
         "%s %s%s; before it %s", m->type, m->zone, *m->zone ? " " : "",
         shadow_text(l->env->shadow, text, sizeof text));
}

static void ended_keep(struct ledger *l, const struct machine *m)
{
    struct ended_note n = {0};

    if (m->state != STATE_STOPPING || !m->maybe.end_sent || !*m->request_id)
        return;
    snprintf(n.provider, sizeof n.provider, "%s", m->provider);
    snprintf(n.cloud_id, sizeof n.cloud_id, "%s", m->cloud_id);
    snprintf(n.request_id, sizeof n.request_id, "%s", m->request_id);
    if (l->ended.n < ENDED_KEPT)
        VEC_PUSH(NULL, &l->ended, n);
    else
        l->ended.v[l->n_ended % ENDED_KEPT] = n;
    l->n_ended++;
}

bool ledger_had_ended(const struct ledger *l, const char *provider,
                      const char *cloud_id, const char *request_id)
{
    for (uint32_t i = 0; *request_id && i < l->ended.n; i++)
        if (strcmp(l->ended.v[i].provider, provider) == 0 &&
            strcmp(l->ended.v[i].cloud_id, cloud_id) == 0 &&
            strcmp(l->ended.v[i].request_id, request_id) == 0)
            return true;
    return false;
}

void machine_to(struct ledger *l, struct machine *m, enum machine_state to)
{
    static const char *const kinds[STATE_COUNT] = {
        [STATE_REQUESTED] = "node.launching",
        [STATE_STARTING] = "node.starting",
        [STATE_READY] = "node.ready",
        [STATE_DRAINING] = "node.draining",
        [STATE_STOPPING] = "node.ending",
        [STATE_GONE] = "node.gone",
    };
    bool back = m->state == STATE_DRAINING && to == STATE_READY;

    if (m->state == to)
        return;
    if (to == STATE_GONE)
        ended_keep(l, m);
    if (m->state == STATE_INTENDED) {
        m->busy = false; /* whatever its launch does: it may hang for hours */
        machine_looked(l, m, 0);
    }
    if (m->state > STATE_READY && !m->ready_ms)
        m->maybe.unwatched_ms = TIME_UNWATCHED; /* it comes after all */
    m->tries = 0;
    m->retry_ms = 0;
    m->maybe.missing_ms = 0;
    if (to == STATE_READY) {
        m->drain_since_ms = 0;
        m->drain_accepted = false;
        if (!m->ready_ms)
            machine_joined_first(l, m);
    }
    if (to == STATE_STOPPING)
        machine_ending(l, m);
    if (to >= STATE_STOPPING && m->failure == ST_OK)
        MACHINE_SET(m, detail, ""); /* of its earlier life */
    fleet_move(&l->fleet, m, to, l->env->now_ms);
    if (to == STATE_STOPPING && l->env->shadow)
        would_end(l, m);
    else if (kinds[to])
        emit(l->env, back ? "node.undrained" : kinds[to], m->id,
             m->why == REASON_NONE ? "" : reason_code(m->why), "%s %s%s%s",
             m->type, m->zone, *m->zone ? " " : "", m->detail);
}

void machine_take_back(struct ledger *l, struct machine *m)
{
    bool void_end = settle_end_void(m, l->env->now_ms);

    if (!void_end && (m->state != STATE_DRAINING || m->drain_accepted))
        return;
    atomic_fetch_add(&l->env->metrics.undrains, 1);
    m->why = REASON_NONE;
    if (void_end) {
        m->failure = ST_OK;
        m->maybe.told = m->maybe.end_sent = false;
    }
    machine_to(l, m, *m->ray_id || void_end ? STATE_READY : STATE_STARTING);
}

void machine_fail(struct ledger *l, struct machine *m, enum status why,
                  const char *text)
{
    struct failure_note *f = &l->failures[l->n_failures++ % FAILURES_KEPT];

    m->failure = why;
    m->why = REASON_END_FAILED;
    figure_count(&l->env->metrics.figures, FIGURE_MACHINE_FAILED, 1,
                 FIGURE_LABELS_(m->type, m->provider, status_name(why)));
    f->why = why;
    f->at_ms = l->env->now_ms;
    snprintf(f->machine, sizeof f->machine, "%s", m->id);
    snprintf(f->type, sizeof f->type, "%s", m->type);
    snprintf(f->text, sizeof f->text, "%s", text);
    emit(l->env, "node.failed", m->id, status_name(why), "%s: %s", m->type,
         text);
    MACHINE_SET(m, detail, text);
    fleet_touch(&l->fleet, m);
}

void machine_fail_life(struct ledger *l, struct machine *m, const struct err *e)
{
    backoffs_note_life(l->backoffs, machine_offer(m), e, l->env->now_ms);
    machine_fail(l, m, e->status, e->text);
}

int64_t machine_proves_ms(const struct machine *m)
{
    return m->ready_ms + PROVES_MS;
}

void machine_died(struct ledger *l, struct machine *m, const struct err *e)
{
    machine_short_life(l, m, e);
    machine_fail(l, m, e->status, e->text);
}

void machine_short_life(struct ledger *l, const struct machine *m,
                        const struct err *e)
{
    if (!m->ready_ms ||
        (!machine_leaves(m) && l->env->now_ms < machine_proves_ms(m)))
        backoffs_note_life(l->backoffs, machine_offer(m), e, l->env->now_ms);
}

void machine_vain(struct ledger *l, struct machine *m)
{
    struct err e;

    if (!m->ready_ms || m->maybe.proved || m->maybe.vain || !m->maybe.dead ||
        m->failure != ST_OK || machine_leaves(m))
        return;
    m->maybe.vain = true;
    err_set(&e, ST_BROKEN, "its node joined, and is not ready any more");
    backoffs_note_life(l->backoffs, machine_offer(m), &e, l->env->now_ms);
}

void machine_proved(struct ledger *l, struct machine *m)
{
    m->maybe.proved = true;
    backoffs_lived(l->backoffs, machine_offer(m), m->created_ms);
}

void machine_doubt(struct ledger *l, struct machine *m, const struct err *e)
{
    if (m->maybe.given_up)
        return;
    m->maybe.given_up = true;
    m->failure = e->status;
    MACHINE_SET(m, detail, e->text);
    fleet_touch(&l->fleet, m);
    emit(l->env, "launch.unanswered", m->id, status_name(e->status),
         "%s: it counts until a list of %s tells what came of it: %s", m->type,
         m->provider, e->text);
}

bool machine_waits(const struct ledger *l, const struct machine *m)
{
    return ledger_unsaved(l, m->batch) ||
           (l->ha && mirror_waits(l->env->journal, "machine", m->id));
}

bool machine_due(const struct ledger *l, const struct machine *m)
{
    return !m->busy && !machine_is_anothers(m) &&
           m->retry_ms <= l->env->now_ms && !machine_waits(l, m);
}

bool machine_end_due(const struct ledger *l, const struct machine *m)
{
    return m->state == STATE_STOPPING && *m->cloud_id && !*m->cloud_holds &&
           machine_due(l, m);
}

/* ---- the journal and its copy */

void ledger_rewrite(struct ledger *l)
{
    /* What ended meanwhile must not come back with the next start. */
    journal_forget(l->env->journal, NULL);
    ours_rewrite(l);
    type_names_rewrite(l);
    agreed_rewrite(l);
    if (*l->head_session)
        journal_put_value(l->env->journal, HEAD_KEY, l->head_session, NULL);
    if (*l->file)
        journal_put_value(l->env->journal, FILE_KEY, l->file, NULL);
    for (uint32_t i = 0; i < l->fleet.n; i++)
        machine_written(l, l->fleet.v[i], l->fleet.v[i]->state);
}

/* What became of that batch. */
static bool commit_ended(struct ledger *l, uint64_t batch, enum status s,
                         const struct err *err)
{
    if (s == ST_OK) {
        if (!l->journal_ok)
            log_info("the journal can be written again");
        l->journal_ok = true;
        l->pause_ms = 0;
        l->stale = false;
        l->saved = batch;
        return true;
    }
    if (l->journal_ok)
        log_error(
            "%s: %s; nothing is launched or ended until it can be written",
            l->path, err->text);
    atomic_fetch_add(&l->env->metrics.journal_failures, 1);
    l->journal_ok = false;
    l->problem = *err;
    l->stale = true;
    if (l->pause_ms < COMMIT_MOST_MS)
        l->pause_ms += COMMIT_AGAIN_MS;
    l->again_ms = l->env->mono_ms + l->pause_ms;
    return false;
}

bool ledger_commit(struct ledger *l)
{
    struct err err = {0};

    assert(!l->committing);
    return commit_ended(l, l->batch++, journal_commit(l->env->journal, &err),
                        &err);
}

struct commit {
    struct job job; /* first */
    struct journal *journal;
    uint64_t batch;
    bool again; /* its file was not there any more */
    enum status status;
    struct err err;
};

/* What is promised on the strength of it must be where the next start looks. */
static void commit_run(struct job *job)
{
    struct commit *c = (struct commit *)job;

    c->status = journal_commit(c->journal, &c->err);
    if (c->status == ST_OK)
        c->status = journal_keep(c->journal, &c->again, &c->err);
}

void ledger_commit_begin(struct ledger *l)
{
    struct commit *c;

    assert(!l->committing);
    if (!l->writer || (!journal_in_batch(l->env->journal) &&
                       !journal_keep_due(l->env->journal, l->env->mono_ms))) {
        ledger_commit(l);
        return;
    }
    c = MEM_NEW(struct commit);
    c->job.run = commit_run;
    c->job.mail.kind = MAIL_JOURNAL;
    c->job.brief = true;
    c->job.must = true;
    c->journal = l->env->journal;
    c->batch = l->batch++;
    c->status = err_set(&c->err, ST_RETRY, "its commit was never begun");
    l->committing = true;
    journal_lend(c->journal);
    atomic_store(&l->env->metrics.commit_ms, clock_mono_ms());
    workers_submit(l->writer, &c->job);
}

/* A launch that could not leave meanwhile has had no time yet. */
static void intents_begin(struct ledger *l, uint64_t batch)
{
    for (uint32_t i = 0; i < l->fleet.n; i++)
        if (l->fleet.v[i]->batch == batch &&
            l->fleet.v[i]->state == STATE_INTENDED)
            l->fleet.v[i]->progress_ms = l->env->now_ms;
}

void ledger_committed(struct ledger *l, struct mail *mail)
{
    struct commit *c = (struct commit *)mail;

    assert(l->committing && c->batch < l->batch);
    l->committing = false;
    journal_return(c->journal);
    atomic_store(&l->env->metrics.commit_ms, 0);
    commit_ended(l, c->batch, c->status, &c->err);
    intents_begin(l, c->batch);
    if (c->again)
        emit(l->env, "journal.rewritten", l->path, "",
             "somebody deleted or replaced it while davit ran: all of it was "
             "written again, and what lay there is beside it");
    free(c);
}

bool ledger_writer_stop(struct ledger *l, int64_t wait_ms)
{
    if (!workers_free(l->writer, wait_ms))
        return false;
    l->writer = NULL;
    return true;
}

bool ledger_unsaved(const struct ledger *l, uint64_t batch)
{
    return l->writer && batch > l->saved; /* else each step commits first */
}

void ledger_copy(struct ledger *l)
{
    if (l->ha)
        env_wake_mono(l->env, ha_push(l->ha, l->env->journal));
}

/* Before it is full, and nothing can be launched or ended any more. */
static void filling_tell(struct ledger *l)
{
    bool filling = ha_percent(l->ha) >= HA_FILLING_PERCENT;

    if (filling && !l->copy_filling)
        emit(l->env, "journal.filling", l->path, "",
             "the ConfigMaps are %u %% full: at 100 %% nothing more can be "
             "launched or ended; run fewer machines for one daemon",
             ha_percent(l->ha));
    l->copy_filling = filling;
}

void ledger_copied(struct ledger *l, struct mail *mail)
{
    struct err err;
    bool good = ha_fold(l->ha, l->env->journal, mail, &err);

    filling_tell(l);
    if (l->ha->lacked)
        emit(l->env, "journal.rewritten", l->path, "",
             "somebody deleted or changed ConfigMaps of it: all of it is "
             "written again");
    l->ha->lacked = false;
    if (good) {
        if (!l->copy_ok)
            log_info("the copy in the cluster can be written again");
        l->copy_ok = true;
        return;
    }
    if (l->copy_ok)
        log_error("the copy in the cluster cannot be written: %s; nothing is "
                  "launched or ended until it can",
                  err.text);
    atomic_fetch_add(&l->env->metrics.journal_failures, 1);
    l->copy_ok = false;
}

bool ledger_waits(const struct ledger *l, const char *kind, const char *id)
{
    return l->ha && mirror_waits(l->env->journal, kind, id);
}

bool ledger_leads(struct ledger *l)
{
    if (!l->ha || ha_leads(l->ha))
        return true;
    env_wake_mono(l->env, l->env->mono_ms + LEASE_LOOK_MS);
    return false;
}
