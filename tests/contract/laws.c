/*
 * laws.c - the laws of provider.h, each as a small experiment.
 *
 * A law starts from an empty cloud and is cleared up after; it says what is
 * wrong with bench_wrong() and returns.  Money hangs on all of them: a machine
 * too many is paid for, a wrong one ended takes somebody's work with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cloud/backoff.h"
#include "contract.h"

static void nap(int64_t ms)
{
    /* wait: what a provider's own options say that its cloud takes */
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void law_empty(struct bench *b)
{
    struct call *c = bench_list(b);
    if (c && c->machines.n > 0)
        bench_wrong(b,
                    "there are %u machines before any launch: the suite "
                    "wants a cluster name of its own",
                    c->machines.n);
    call_free(c);
}

static void law_launch(struct bench *b)
{
    const char *id = bench_request(b);
    const struct snap_type *t = &b->types[0].fact;
    if (!bench_insist(b, 1, id, 5) || !bench_settles(b, id, 1))
        return;
    struct call *c = bench_list(b);
    for (uint32_t i = 0; c && i < c->machines.n; i++) {
        const struct call_machine *m = &c->machines.v[i];
        if (strcmp(m->type, t->name) != 0)
            bench_wrong(b, "machine %s is listed as of type \"%s\", not %s",
                        m->id, m->type, t->name);
        if (t->offers[0].zone[0] != '\0' &&
            strcmp(m->zone, t->offers[0].zone) != 0)
            bench_wrong(b, "machine %s is listed in zone \"%s\", not %s", m->id,
                        m->zone, t->offers[0].zone);
        if (m->spot != t->offers[0].spot)
            bench_wrong(b, "machine %s is of the wrong market", m->id);
    }
    call_free(c);
}

static void law_ready(struct bench *b)
{
    const char *id = bench_request(b);
    int64_t until = clock_mono_ms() + b->ready_ms;
    uint32_t running = 0;
    if (!bench_insist(b, 2, id, 5))
        return;
    while (running < 2 && clock_mono_ms() < until && b->wrong[0] == '\0') {
        struct call *c = bench_list(b);
        running = 0;
        for (uint32_t i = 0; c && i < c->machines.n; i++) {
            const struct call_machine *m = &c->machines.v[i];
            running += m->phase == DAVIT_RUNNING;
            if (m->phase == DAVIT_FAILED)
                bench_wrong(b, "machine %s failed: %s", m->id, m->detail);
        }
        call_free(c);
        nap(20);
    }
    if (running < 2)
        bench_wrong(b, "%u of 2 machines run after %lld s (--ready)", running,
                    (long long)b->ready_ms / 1000);
}

static void law_same_request(struct bench *b)
{
    const char *id = bench_request(b);
    for (int i = 0; i < 3; i++)
        if (!bench_insist(b, 2, id, 5))
            return;
    bench_settles(b, id, 2);
    bench_settles(b, NULL, 2);
}

static void law_same_at_once(struct bench *b)
{
    const char *id = bench_request(b);
    for (int i = 0; i < 4; i++)
        bench_submit(b, bench_launch_new(b, 2, id), b->call_ms);
    for (int i = 0; i < 4; i++)
        call_free(bench_take(b));
    if (bench_insist(b, 2, id, 5))
        bench_settles(b, NULL, 2);
}

static void law_many_at_once(struct bench *b)
{
    const char *ids[4];
    for (int i = 0; i < 4; i++) {
        ids[i] = bench_request(b);
        bench_submit(b, bench_launch_new(b, 1, ids[i]), b->call_ms);
        bench_submit(b, call_new(b->p, CALL_LIST, 1), b->call_ms);
    }
    for (int i = 0; i < 8; i++)
        call_free(bench_take(b));
    for (int i = 0; i < 4; i++)
        if (!bench_insist(b, 1, ids[i], 5) || !bench_settles(b, ids[i], 1))
            return;
    bench_settles(b, NULL, 4);
}

static void law_restart(struct bench *b)
{
    const char *id = bench_request(b);
    if (!bench_insist(b, 2, id, 5) || !bench_settles(b, id, 2))
        return;
    provider_close(b->p);
    b->p = NULL;
    if (!bench_open(b) || !bench_settles(b, id, 2))
        return;
    /* The launch was answered to a daemon that is no more. */
    if (bench_insist(b, 2, id, 5))
        bench_settles(b, NULL, 2);
}

static void law_reload(struct bench *b)
{
    const char *id = bench_request(b);
    struct provider *old = b->p;
    if (!bench_insist(b, 1, id, 5) || !bench_settles(b, id, 1))
        return;
    if (!bench_open(b)) {
        b->p = old;
        return;
    }
    if (bench_count(b, id) != 1)
        bench_wrong(b, "a second handle sees other machines than the first");
    provider_close(old);
    bench_settles(b, NULL, 1);
}

/* The ids of a launch of n, in the arena of the returned list; NULL: wrong. */
static struct call *launched(struct bench *b, uint32_t n, const char *id,
                             const char *ret_ids[])
{
    if (!bench_insist(b, n, id, 5) || !bench_settles(b, id, n))
        return NULL;
    struct call *c = bench_list(b);
    uint32_t k = 0;
    for (uint32_t i = 0; c && i < c->machines.n; i++)
        if (strcmp(c->machines.v[i].request_id, id) == 0 && k < n)
            ret_ids[k++] = c->machines.v[i].id;
    return c;
}

static void law_chosen(struct bench *b)
{
    const char *id = bench_request(b), *ids[3] = {0};
    struct call *before = launched(b, 3, id, ids);
    if (!before)
        return;
    struct call *e = bench_end_ids(b, &ids[1], 1);
    if (e->status != ST_OK)
        bench_wrong(b, "terminate() of a machine that runs: %s: %s",
                    status_name(e->status), e->err.text);
    call_free(e);
    if (bench_settles(b, id, 2)) {
        struct call *after = bench_list(b);
        for (uint32_t i = 0; after && i < after->machines.n; i++)
            if (strcmp(after->machines.v[i].id, ids[1]) == 0 &&
                after->machines.v[i].phase != DAVIT_STOPPING)
                bench_wrong(b, "machine %s was to end, another one did",
                            ids[1]);
        call_free(after);
    }
    call_free(before);
}

static void law_ended_twice(struct bench *b)
{
    const char *id = bench_request(b), *ids[2] = {0};
    struct call *before = launched(b, 1, id, ids);
    if (!before)
        return;
    for (int i = 0; i < 3; i++) {
        struct call *e = bench_end_ids(b, ids, 1);
        if (e->done[0] != ST_OK && e->done[0] != ST_NOT_FOUND)
            bench_wrong(b, "terminate() number %d of the same machine: %s: %s",
                        i + 1, status_name(e->done[0]), e->err.text);
        call_free(e);
        if (i == 1 && !bench_settles(b, id, 0))
            break;
    }
    call_free(before);
}

/* An id that nobody has must not keep the others alive. */
static void law_ended_unknown(struct bench *b)
{
    const char *id = bench_request(b), *ids[2] = {0};
    struct call *before = launched(b, 1, id, ids);
    if (!before)
        return;
    const char *both[2] = {"no-such-machine-0", ids[0]};
    struct call *e = bench_end_ids(b, both, 2);
    if (e->done[0] != ST_NOT_FOUND && e->done[0] != ST_OK &&
        e->done[0] != ST_INVALID)
        bench_wrong(b, "terminate() of an id nobody has: %s, not NOT_FOUND",
                    status_name(e->done[0]));
    if (e->done[1] != ST_OK)
        bench_wrong(b, "an unknown id kept another machine from its end: %s",
                    status_name(e->done[1]));
    call_free(e);
    call_free(before);
    bench_settles(b, id, 0);
}

static void law_no_return(struct bench *b)
{
    const char *id = bench_request(b), *ids[2] = {0};
    struct call *before = launched(b, 2, id, ids);
    if (!before)
        return;
    call_free(bench_end_ids(b, ids, 2));
    call_free(before);
    if (!bench_settles(b, id, 0))
        return;
    bench_launch(b, 2, id); /* late repetition, whatever it says */
    nap(b->settle_ms);
    if (bench_count(b, id) > 2)
        bench_wrong(b, "a late repetition of a launch made %u machines of 2",
                    bench_count(b, id));
}

static void law_unknown_type(struct bench *b)
{
    struct call *c = NULL;
    for (int tries = 5; tries > 0; tries--) {
        call_free(c);
        c = bench_launch_new(b, 1, bench_request(b));
        c->type = "no-such-type";
        c = bench_run(b, c);
        if (c->status != ST_RETRY && c->status != ST_THROTTLED)
            break;
        nap(50);
    }
    if (c->status != ST_INVALID)
        bench_wrong(b, "launch() of a type nobody configured: %s, not INVALID",
                    status_name(c->status));
    call_free(c);
    bench_settles(b, NULL, 0);
}

/* Ended early at whatever moment: it comes back soon, and the same request
 * again gives what was asked for, once. */
static void cut_short(struct bench *b, bool by_cancel)
{
    static const int moments[] = {0, 1, 3, 10, 30, 100};
    uint32_t total = 0;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        const char *id = bench_request(b);
        struct call *c = bench_launch_new(b, 2, id);
        int64_t from = clock_mono_ms();
        bench_submit(b, c, by_cancel ? b->call_ms : moments[i] + 1);
        if (by_cancel) {
            nap(moments[i]);
            atomic_store(&c->cancel, true);
        }
        c = bench_take(b);
        int64_t took = clock_mono_ms() - from - moments[i];
        if (took > 2000)
            bench_wrong(b, "launch() went on for %lld ms after its %s",
                        (long long)took, by_cancel ? "cancel" : "deadline");
        call_free(c);
        total += 2;
        if (!bench_insist(b, 2, id, 5) || !bench_settles(b, id, 2))
            return;
    }
    bench_settles(b, NULL, total);
}

static void law_cancel(struct bench *b)
{
    cut_short(b, true);
}

static void law_deadline(struct bench *b)
{
    cut_short(b, false);
}

/* The n-th exchange with the cloud goes wrong, for every n there is. */
static void torture_launch(struct bench *b, enum tap_how how)
{
    for (int n = 1; n <= 40 && b->wrong[0] == '\0'; n++) {
        const char *id = bench_request(b);
        b->tap_how = how;
        atomic_store(&b->tap_seen, 0);
        atomic_store(&b->tap_at, n);
        bench_launch(b, 2, id);
        bool hit = atomic_load(&b->tap_seen) >= n;
        atomic_store(&b->tap_at, 0);
        if (!bench_insist(b, 2, id, 5) || !bench_settles(b, id, 2) ||
            !bench_clear(b) || !hit)
            return;
    }
}

static void law_lost_requests(struct bench *b)
{
    torture_launch(b, TAP_UNSENT);
}

/* A plug-in may look after what became of it: then the launch is OK all the same
 * when the cloud was fast enough to show it. */
static void law_lost_replies(struct bench *b)
{
    if (b->lose) {
        const char *id = bench_request(b);
        if (!bench_shell(b, b->lose))
            return;
        atomic_store(&b->unanswered, 0);
        if (bench_launch(b, 2, id) == ST_OK && !atomic_load(&b->unanswered))
            bench_wrong(b, "the reply was to be lost (--lose), yet it came");
        if (bench_insist(b, 2, id, 5) && bench_settles(b, NULL, 2))
            bench_clear(b);
    }
    torture_launch(b, TAP_LOST);
}

static void law_lost_ends(struct bench *b)
{
    for (int n = 1; n <= 40 && b->wrong[0] == '\0'; n++) {
        const char *id = bench_request(b), *ids[2] = {0};
        struct call *before = launched(b, 2, id, ids);
        if (!before)
            return;
        b->tap_how = TAP_LOST;
        atomic_store(&b->tap_seen, 0);
        atomic_store(&b->tap_at, n);
        call_free(bench_end_once(b, ids, 1));
        bool hit = atomic_load(&b->tap_seen) >= n;
        atomic_store(&b->tap_at, 0);
        struct call *again = bench_end_ids(b, ids, 1);
        if (again->done[0] != ST_OK && again->done[0] != ST_NOT_FOUND)
            bench_wrong(b, "terminate() after a lost reply: %s: %s",
                        status_name(again->done[0]), again->err.text);
        call_free(again);
        call_free(before);
        if (!bench_settles(b, id, 1) || !bench_clear(b) || !hit)
            return;
    }
}

static const char *const tap_texts[TAP_HOWS] = {
    [TAP_UNSENT] = "no connection",
    [TAP_LOST] = "no reply",
    [TAP_503] = "a 503",
    [TAP_CUT] = "half a reply",
    [TAP_EMPTY] = "a reply without a body"};

/* What could not be read is an error: a machine that a good list lacks is taken
 * for gone. */
static void torture_list(struct bench *b, const char *id, enum tap_how how)
{
    for (int n = 1; n <= 40 && b->wrong[0] == '\0'; n++) {
        uint32_t there = 0;
        b->tap_how = how;
        atomic_store(&b->tap_seen, 0);
        atomic_store(&b->tap_at, n);
        struct call *c = bench_run(b, call_new(b->p, CALL_LIST, 1));
        bool hit = atomic_load(&b->tap_seen) >= n;
        atomic_store(&b->tap_at, 0);
        for (uint32_t i = 0; i < c->machines.n; i++)
            there += strcmp(c->machines.v[i].request_id, id) == 0;
        if (c->status == ST_OK && there != 2)
            bench_wrong(b,
                        "list() was OK with %u of 2 machines when exchange "
                        "%d with the cloud failed (%s): it must return the "
                        "error",
                        there, n, tap_texts[how]);
        call_free(c);
        if (!hit)
            return;
    }
}

static void law_lost_lists(struct bench *b)
{
    const char *id = bench_request(b);
    if (!bench_insist(b, 2, id, 5) || !bench_settles(b, id, 2))
        return;
    for (enum tap_how how = 0; how < TAP_HOWS; how++)
        torture_list(b, id, how);
    bench_clear(b);
}

/* Of this request; failed ones are counted apart. */
static uint32_t count_of(struct bench *b, const char *id, uint32_t *ret_failed)
{
    struct call *c = bench_list(b);
    uint32_t n = 0;
    *ret_failed = 0;
    for (uint32_t i = 0; c && i < c->machines.n; i++) {
        const struct call_machine *m = &c->machines.v[i];
        if (strcmp(m->request_id, id) != 0)
            continue;
        *ret_failed += m->phase == DAVIT_FAILED;
        n += m->phase != DAVIT_FAILED && m->phase != DAVIT_STOPPING;
    }
    call_free(c);
    return n;
}

/* What was told must be there. */
static void told_is_listed(struct bench *b, const struct call *told)
{
    struct call *c = bench_list(b);
    for (uint32_t i = 0; c && i < told->machines.n; i++) {
        uint32_t k = 0;
        while (k < c->machines.n &&
               strcmp(c->machines.v[k].id, told->machines.v[i].id) != 0)
            k++;
        if (k == c->machines.n)
            bench_wrong(b, "launch() put() machine %s, which is not listed",
                        told->machines.v[i].id);
    }
    call_free(c);
}

/* There is room for some of three: these are there, the others are told of,
 * and repeating it makes no fourth. */
static void law_partial(struct bench *b)
{
    const char *id = bench_request(b);
    if (!b->partial || !bench_shell(b, b->partial))
        return;
    struct call *c = bench_run(b, bench_launch_new(b, 3, id));
    int64_t until = clock_mono_ms() + b->ready_ms;
    uint32_t failed, n = count_of(b, id, &failed);
    while ((n == 0 || (c->status == ST_OK && n + failed < 3)) &&
           clock_mono_ms() < until && b->wrong[0] == '\0') {
        nap(20);
        n = count_of(b, id, &failed);
    }
    if (n == 0 || n >= 3)
        bench_wrong(b,
                    "%u of 3 machines came (--partial should leave room for "
                    "one or two)",
                    n);
    if (c->status == ST_OK && failed == 0)
        bench_wrong(b,
                    "launch() says OK, %u of 3 machines came, and none is "
                    "listed as FAILED",
                    n);
    told_is_listed(b, c);
    call_free(c);
    for (int i = 0; i < 6 && b->wrong[0] == '\0'; i++) {
        if (i == 3 && b->heal && !bench_shell(b, b->heal))
            return;
        bench_launch(b, 3, id);
        nap(b->settle_ms);
        uint32_t now = count_of(b, id, &failed);
        if (now < n || now > 3)
            bench_wrong(b,
                        "%u of 3 machines came; the same request again makes "
                        "it %u",
                        n, now);
    }
}

static void law_errors(struct bench *b)
{
    for (uint32_t i = 0; i < b->n_faults && b->wrong[0] == '\0'; i++) {
        const char *id = bench_request(b);
        if (!bench_shell(b, b->faults[i].command))
            return;
        struct call *c = bench_run(b, bench_launch_new(b, 1, id));
        if (c->status != b->faults[i].want)
            bench_wrong(b, "after \"%s\" launch() says %s: %s; not %s",
                        b->faults[i].command, status_name(c->status),
                        c->err.text, status_name(b->faults[i].want));
        if (c->err.text[0] == '\0')
            bench_wrong(b, "%s comes without a text", status_name(c->status));
        call_free(c);
        if (b->heal && bench_shell(b, b->heal) && bench_insist(b, 1, id, 5) &&
            bench_settles(b, NULL, 1))
            bench_clear(b);
    }
}

/* What made nothing and was not put off would be asked again at once, for ever:
 * the daemon's own table decides. */
static void left_alone(struct bench *b, const struct call *c)
{
    int64_t now = clock_wall_ms();
    struct backoffs *all = backoffs_new();
    struct offer_key of = {"suite", c->type, c->zone, c->spot};
    const struct backoff *x;
    if (c->status == ST_OK || c->machines.n > 0) {
        backoffs_free(all);
        return;
    }
    x = backoffs_note_launch(all, of, c->count, 0, &c->err, now);
    if (!x || (x->until_ms <= now && x->room >= c->count))
        bench_wrong(b,
                    "a launch that was refused with %s and made nothing is "
                    "asked again at once",
                    status_name(c->status));
    backoffs_free(all);
}

static void law_refused(struct bench *b)
{
    struct call *c = bench_launch_new(b, 1, bench_request(b));
    c->type = "no-such-type";
    c = bench_run(b, c);
    left_alone(b, c);
    call_free(c);
    for (uint32_t i = 0; i < b->n_faults && b->wrong[0] == '\0'; i++) {
        if (!bench_shell(b, b->faults[i].command))
            return;
        c = bench_run(b, bench_launch_new(b, 2, bench_request(b)));
        left_alone(b, c);
        call_free(c);
        if (b->heal && bench_shell(b, b->heal))
            bench_clear(b);
    }
}

static void law_offers(struct bench *b)
{
    if ((provider_caps(b->p) & DAVIT_CAP_OFFERS) == 0)
        return;
    struct call *c = NULL;
    for (int tries = 5; tries > 0; tries--) {
        call_free(c);
        c = bench_run(b, call_new(b->p, CALL_OFFERS, 1));
        if (c->status != ST_RETRY && c->status != ST_THROTTLED)
            break;
        nap(c->err.retry_after_ms > 0 ? c->err.retry_after_ms : 50);
    }
    if (c->status != ST_OK && c->status != ST_UNSUPPORTED)
        bench_wrong(b, "offers(): %s: %s", status_name(c->status), c->err.text);
    call_free(c);
}

const struct law laws[] = {
    {"empty", "an unused cluster name has no machines", law_empty},
    {"launch", "what is launched is listed, as what it is", law_launch},
    {"ready", "machines come to run", law_ready},
    {"same-request", "the same request again makes no more", law_same_request},
    {"same-at-once", "nor does it when it comes four times at once",
     law_same_at_once},
    {"many-at-once", "launches and lists run side by side", law_many_at_once},
    {"restart", "a new process finds the machines and their request",
     law_restart},
    {"reload", "a second handle is opened before the first is closed",
     law_reload},
    {"chosen", "exactly the machine that was named ends", law_chosen},
    {"ended-twice", "ending what has ended is no error", law_ended_twice},
    {"ended-unknown", "an unknown id harms no other", law_ended_unknown},
    {"no-return", "a late repetition makes no more than were asked for",
     law_no_return},
    {"unknown-type", "a type nobody configured is INVALID", law_unknown_type},
    {"cancel", "a cancelled launch ends soon and leaves nothing unowned",
     law_cancel},
    {"deadline", "so does one whose time is over", law_deadline},
    {"lost-requests", "any request to the cloud may fail to arrive",
     law_lost_requests},
    {"lost-replies", "any reply may be lost after the deed is done",
     law_lost_replies},
    {"lost-ends", "also when ending machines", law_lost_ends},
    {"lost-lists",
     "a list that could not be read is an error, not a shorter "
     "list",
     law_lost_lists},
    {"partial",
     "what exists of a launch that got some is told, and no more "
     "comes of it",
     law_partial},
    {"errors", "each failure is told as the reaction it needs", law_errors},
    {"refused", "what was refused is not asked for again at once", law_refused},
    {"console",
     "a console that cannot be read, hangs or is nobody's keeps no machine",
     law_console},
    {"find", "find() says what is there, whatever goes wrong", law_find},
    {"offers", "offers name configured types only", law_offers},
    {NULL, NULL, NULL}};
