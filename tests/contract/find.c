/*
 * find.c - the law of find(): a word on a machine by its id.  Half of a fleet may be
 * forgotten at that word, so no broken exchange may become one.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "contract.h"

enum { TIMES = 12 };

static struct call *find(struct bench *b, const char *const *ids, uint32_t n)
{
    struct call *c = call_new(b->p, CALL_FIND, 1);
    const char **copy = ARENA_ARRAY(&c->arena, const char *, n);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = arena_strdup(&c->arena, ids[i]);
    c->ids = copy;
    c->n_ids = n;
    return bench_run(b, c);
}

/* Both are there.  Returns whether another exchange came after the n-th, which
 * goes wrong. */
static bool spoilt(struct bench *b, const char *const ids[2], enum tap_how how,
                   int n)
{
    b->tap_how = how;
    atomic_store(&b->tap_seen, 0);
    atomic_store(&b->tap_at, n);
    struct call *c = find(b, ids, 2);
    int seen = atomic_load(&b->tap_seen);
    atomic_store(&b->tap_at, 0);
    for (uint32_t i = 0; i < 2; i++)
        if (c->done[i] == ST_NOT_FOUND)
            bench_wrong(b,
                        "machine %s is there, and find() says that it is not, "
                        "as exchange %d went wrong",
                        ids[i], n);
    call_free(c);
    return seen > n;
}

/* The first one has ended: in time that is said, and never of the other. */
static void ends(struct bench *b, const char *const ids[2])
{
    int64_t until = clock_mono_ms() + b->gone_ms;
    bool said = false;
    call_free(bench_end_ids(b, ids, 1));
    while (!said && clock_mono_ms() < until && b->wrong[0] == '\0') {
        struct call *c = find(b, ids, 2);
        said = c->done[0] == ST_NOT_FOUND;
        if (c->done[1] == ST_NOT_FOUND)
            bench_wrong(b, "machine %s ended, and find() says it of %s", ids[0],
                        ids[1]);
        call_free(c);
        if (!said) /* wait: what a provider's own options say that it takes */
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    if (!said)
        bench_wrong(b,
                    "machine %s has ended, and find() does not say so in "
                    "%lld s (--gone)",
                    ids[0], (long long)b->gone_ms / 1000);
}

void law_find(struct bench *b)
{
    const char *id = bench_request(b), *ids[2];
    if (!provider_finds(b->p) || !bench_insist(b, 2, id, 5) ||
        !bench_settles(b, id, 2))
        return;
    struct call *there = bench_list(b);
    if (there && there->machines.n == 2) {
        ids[0] = there->machines.v[0].id;
        ids[1] = there->machines.v[1].id;
        call_free(find(b, ids, 2)); /* it may say that it cannot */
        for (enum tap_how how = 0; provider_finds(b->p) && how < TAP_HOWS;
             how++)
            for (int n = 1; n <= TIMES && b->wrong[0] == '\0'; n++)
                if (!spoilt(b, ids, how, n))
                    break;
        if (b->wrong[0] == '\0' && provider_finds(b->p))
            ends(b, ids);
    }
    call_free(there);
}
