/*
 * interrupted.c - see interrupted.h.
 */
#include "interrupted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY "interrupted"
enum {
    KEPT_MS = 3600000,
    KEPT_MOST = 256, /* the newest */
    TEXT_MAX = KEPT_MOST * 200,
};

static bool is_of(const struct interruption *x, struct offer_key of)
{
    return of.spot && strcmp(x->provider, of.provider) == 0 &&
           strcmp(x->type, of.type) == 0 && strcmp(x->zone, of.zone) == 0;
}

static bool is_kept(const struct interruption *x, int64_t now_ms)
{
    return now_ms - x->at_ms < KEPT_MS;
}

/* Words have no blanks; a zone may be "". */
static void write(struct ledger *l)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    for (uint32_t i = 0; i < l->interruptions.n; i++) {
        const struct interruption *x = &l->interruptions.v[i];

        buf_printf(&b, "%" PRId64 " %s %s %s;", x->at_ms, x->provider, x->type,
                   x->zone);
    }
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, KEY, b.n ? b.s : "", NULL);
    buf_done(&b);
}

static void add(struct ledger *l, const struct interruption *x)
{
    uint32_t kept = 0;

    for (uint32_t i = l->interruptions.n >= KEPT_MOST; i < l->interruptions.n;
         i++)
        if (is_kept(&l->interruptions.v[i], l->env->now_ms))
            l->interruptions.v[kept++] = l->interruptions.v[i];
    l->interruptions.n = kept;
    VEC_PUSH(NULL, &l->interruptions, *x);
}

/* A clock that was set meanwhile makes none of them a thing to come. */
void interrupted_open(struct ledger *l)
{
    struct arena a = {0};
    const char *text = "";

    journal_value(l->env->journal, KEY, &a, &text, NULL);
    for (const char *end; (end = strchr(text, ';')); text = end + 1) {
        struct interruption x = {0};

        if (sscanf(text, "%" SCNd64 " %31[^ ;] %63[^ ;] %47[^ ;]", &x.at_ms,
                   x.provider, x.type, x.zone) < 3)
            continue;
        if (x.at_ms > l->env->now_ms)
            x.at_ms = l->env->now_ms;
        add(l, &x);
    }
    arena_done(&a);
}

void interrupted_note(struct ledger *l, struct machine *m)
{
    struct interruption x = {.at_ms = l->env->now_ms};

    if (!m->spot || m->maybe.interrupted || m->asked_to_end)
        return;
    m->maybe.interrupted = true;
    snprintf(x.provider, sizeof x.provider, "%s", m->provider);
    snprintf(x.type, sizeof x.type, "%s", m->type);
    snprintf(x.zone, sizeof x.zone, "%s", m->zone);
    add(l, &x);
    write(l);
}

uint32_t interrupted_count(const struct ledger *l, struct offer_key of)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->interruptions.n; i++)
        n += is_of(&l->interruptions.v[i], of) &&
             is_kept(&l->interruptions.v[i], l->env->now_ms);
    return n;
}

int64_t interrupted_change_ms(const struct ledger *l)
{
    for (uint32_t i = 0; i < l->interruptions.n; i++)
        if (is_kept(&l->interruptions.v[i], l->env->now_ms))
            return l->interruptions.v[i].at_ms + KEPT_MS; /* oldest first */
    return INT64_MAX;
}
