/*
 * console.c - the law of console(): it is read before a machine is ended, so
 * whatever becomes of it, the machine ends, in time.
 */
#include <string.h>

#include "contract.h"

enum {
    TIMES = 20,
    HANG_NEEDS_MS = 6000
}; /* the daemon gives it 4 s of these */

/* Ends it, its console read before, as the daemon does with one that has not
 * joined. */
static struct call *end_heard(struct bench *b, const char *id)
{
    struct call *c = call_new(b->p, CALL_TERMINATE, 1);
    const char **ids = ARENA_ARRAY(&c->arena, const char *, 1);
    ids[0] = arena_strdup(&c->arena, id);
    c->ids = ids;
    c->n_ids = 1;
    c->consoles = ARENA_ARRAY(&c->arena, bool, 1);
    c->consoles[0] = true;
    c = bench_run(b, c);
    const char *text = c->console ? c->console[0] : "";
    for (const char *s = text; *s != '\0'; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            bench_wrong(b, "a control character is shown: \\x%02x", *s);
    if (strstr(text, SPOILT))
        bench_wrong(b, "console() put() the body of an error as what the "
                       "machine printed");
    return c;
}

/* An id nobody has, and one that was somebody's. */
static void nothing_there(struct bench *b, const char *id, const char *what)
{
    struct call *c = end_heard(b, id);
    if (c->done[0] != ST_NOT_FOUND && c->done[0] != ST_OK &&
        c->done[0] != ST_INVALID)
        bench_wrong(b,
                    "the end of %s, its console read before: %s, not "
                    "NOT_FOUND",
                    what, status_name(c->done[0]));
    if (strcmp(what, "an unknown machine") == 0 && c->console &&
        c->console[0][0] != '\0')
        bench_wrong(b, "console() of %s put() \"%.100s\"", what, c->console[0]);
    call_free(c);
}

/* One machine, of which the n-th exchange goes wrong.  Returns whether another
 * one came after it. */
static bool spoilt(struct bench *b, enum tap_how how, int n)
{
    const char *id = bench_request(b);
    if (!bench_insist(b, 1, id, 5) || !bench_settles(b, id, 1))
        return false;
    struct call *there = bench_list(b);
    if (!there || there->machines.n != 1) {
        call_free(there);
        return false;
    }
    const char *machine = there->machines.v[0].id;
    b->tap_how = how;
    atomic_store(&b->tap_seen, 0);
    atomic_store(&b->tap_at, n);
    struct call *c = end_heard(b, machine);
    int seen = atomic_load(&b->tap_seen);
    atomic_store(&b->tap_at, 0);
    if (how == TAP_HANG && seen >= n && c->done[0] != ST_OK)
        bench_wrong(b,
                    "its console hangs, and machine %s is not ended after "
                    "%lld ms: %s",
                    machine, (long long)c->took_ms, status_name(c->done[0]));
    call_free(c);
    if (bench_clear(b))
        nothing_there(b, machine, "a machine that is gone");
    call_free(there);
    return seen > n;
}

void law_console(struct bench *b)
{
    struct call *c = end_heard(b, "no-such-machine-0");
    bool none = !c->console;
    call_free(c);
    if (none || b->wrong[0] != '\0')
        return;
    nothing_there(b, "no-such-machine-0", "an unknown machine");
    for (enum tap_how how = 0; how < TAP_HOWS; how++)
        for (int n = 1; n <= TIMES && b->wrong[0] == '\0'; n++)
            if (!spoilt(b, how, n))
                break;
    if (b->call_ms >= HANG_NEEDS_MS && b->wrong[0] == '\0')
        spoilt(b, TAP_HANG, 1);
}
