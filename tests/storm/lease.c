/*
 * lease.c - see lease.h.
 */
#include "lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { RENEW_MS = LEASE_MS / 5, ANSWER_MOST_MS = 20000, LOOK_MOST_MS = 2000 };

struct row {
    char *kind, *id, *json; /* heap */
};

struct lease {
    struct player *player;
    enum lease_trouble trouble;
    uint32_t token, fence; /* of who leads; of who wrote last */
    bool held;
    int64_t until_ms;      /* nobody else takes it before */
    struct leader *leader; /* or who led last; NULL: its process has ended */
    VEC(struct row) rows;
    bool pruned; /* by somebody, and not seen yet */
    uint64_t faults;
};

struct leader {
    struct ha ha; /* first */
    struct lease *lease;
    uint32_t token;
    int64_t renewed_ms, look_ms; /* look: its keeper tries then */
    bool frozen, killed, deposed;
};

/* ---- the lease */

/* What its keeper did until now. */
static void keep(struct leader *h)
{
    struct lease *l = h->lease;
    int64_t now = player_now_ms(l->player);

    if (h->frozen || h->killed || h->deposed || now < h->look_ms ||
        l->trouble == LEASE_SILENT)
        return;
    if (l->token != h->token) {
        h->deposed = true;
        return;
    }
    h->renewed_ms = now - now % RENEW_MS > h->renewed_ms ? now - now % RENEW_MS
                                                         : h->renewed_ms;
    if (l->until_ms < h->renewed_ms + LEASE_MS)
        l->until_ms = h->renewed_ms + LEASE_MS;
}

bool lease_lost(struct ha *base)
{
    struct leader *h = (struct leader *)base;
    int64_t now = player_now_ms(h->lease->player);

    keep(h);
    return h->deposed || (!h->frozen && now >= h->look_ms &&
                          now - h->renewed_ms > LEASE_MS - RENEW_MS);
}

static bool leads(struct ha *base)
{
    struct leader *h = (struct leader *)base;

    keep(h);
    return !h->deposed && !h->killed &&
           player_now_ms(h->lease->player) < h->renewed_ms + LEASE_MS;
}

/* ---- the copy */

static struct row *row_find(struct lease *l, const struct mirror_row *r)
{
    for (uint32_t i = 0; i < l->rows.n; i++)
        if (strcmp(l->rows.v[i].kind, r->kind) == 0 &&
            strcmp(l->rows.v[i].id, r->id) == 0)
            return &l->rows.v[i];
    return NULL;
}

static void row_drop(struct lease *l, struct row *r)
{
    free(r->kind);
    free(r->id);
    free(r->json);
    *r = l->rows.v[--l->rows.n];
}

static void row_put(struct lease *l, const struct mirror_row *r)
{
    struct row *old = row_find(l, r);

    if (old)
        row_drop(l, old);
    if (r->json)
        VEC_PUSH(NULL, &l->rows,
                 ((struct row){mem_strdup(r->kind), mem_strdup(r->id),
                               mem_strdup(r->json)}));
}

static enum status read_rows(struct ha *base, struct arena *arena,
                             struct mirror_row **ret, uint32_t *n,
                             struct err *err)
{
    struct lease *l = ((struct leader *)base)->lease;
    struct mirror_row *v = ARENA_ARRAY(arena, struct mirror_row, l->rows.n);

    (void)err;
    for (uint32_t i = 0; i < l->rows.n; i++)
        v[i] = (struct mirror_row){arena_strdup(arena, l->rows.v[i].kind),
                                   arena_strdup(arena, l->rows.v[i].id),
                                   arena_strdup(arena, l->rows.v[i].json),
                                   i + 1};
    *ret = v;
    *n = l->rows.n;
    l->fence = ((struct leader *)base)->token;
    return ST_OK;
}

/* How many of the rows come in, and whether that is answered. */
static uint32_t luck(struct lease *l, uint32_t n, bool *answered)
{
    *answered = true;
    if (l->trouble == LEASE_SILENT) {
        l->faults++;
        player_takes(l->player, player_chance(l->player, ANSWER_MOST_MS));
        *answered = false;
        return 0;
    }
    if (l->trouble == LEASE_FULL) {
        l->faults++;
        *answered = false;
        return 0;
    }
    if (l->trouble == LEASE_WELL || player_chance(l->player, 2))
        return n;
    l->faults++;
    player_takes(l->player, player_chance(l->player, ANSWER_MOST_MS));
    switch (player_chance(l->player, 4)) {
    case 0: return n; /* it takes long */
    case 1: *answered = false; return n;
    case 2: *answered = false; return 0;
    default: *answered = false; return player_chance(l->player, n + 1);
    }
}

static enum status write_rows(struct ha *base, const struct mirror_row *rows,
                              uint32_t n, struct err *err)
{
    struct leader *h = (struct leader *)base;
    uint32_t in;
    bool answered;

    if (h->killed)
        return err_set(err, ST_RETRY, "killed");
    in = luck(h->lease, n, &answered);
    if (h->token < h->lease->fence && in)
        return err_set(err, ST_CANCELLED, "another one leads");
    for (uint32_t i = 0; i < in; i++)
        row_put(h->lease, &rows[i]);
    return answered ? ST_OK : err_set(err, ST_RETRY, "no answer");
}

static enum status check(struct ha *base, bool *ret_lacks, struct err *err)
{
    struct lease *l = ((struct leader *)base)->lease;

    if (l->trouble == LEASE_SILENT)
        return err_set(err, ST_RETRY, "no answer");
    *ret_lacks = l->pruned;
    l->pruned = false;
    return ST_OK;
}

void lease_prune(struct lease *l, bool all)
{
    for (uint32_t i = l->rows.n; i-- > 0;)
        if (all || player_chance(l->player, 4))
            row_drop(l, &l->rows.v[i]);
    l->pruned = true;
}

static unsigned percent(const struct ha *h)
{
    (void)h;
    return 0;
}

static void deposed(struct ha *h, const char *why)
{
    (void)why;
    ((struct leader *)h)->deposed = true;
}

static struct workers *worker(struct ha *h, struct mailbox *answers)
{
    return player_workers(((struct leader *)h)->lease->player, 1, 0, answers);
}

/* ---- who leads */

static const struct ha_ops ops = {read_rows, write_rows, check, percent,
                                  leads,     deposed,    worker};

struct ha *lease_take(struct lease *l)
{
    int64_t now = player_now_ms(l->player);
    struct leader *h;

    if (l->trouble == LEASE_SILENT || (l->held && now < l->until_ms))
        return NULL;
    h = MEM_NEW(struct leader);
    *h = (struct leader){.ha = {.ops = &ops, .space = "storm", .name = "davit"},
                         .lease = l,
                         .token = ++l->token,
                         .renewed_ms = now};
    l->held = true;
    l->leader = h;
    l->until_ms = now + LEASE_MS;
    return &h->ha;
}

void lease_killed(struct ha *h)
{
    lease_lost(h); /* what its keeper did before */
    ((struct leader *)h)->killed = true;
}

void lease_leave(struct ha *base, bool released)
{
    struct leader *h = (struct leader *)base;
    struct lease *l = h->lease;

    if (released && l->token == h->token && l->trouble != LEASE_SILENT)
        l->held = false;
    if (l->leader == h)
        l->leader = NULL;
    free(h);
}

void lease_freeze(struct ha *h)
{
    lease_lost(h);
    ((struct leader *)h)->frozen = true;
}

bool lease_was_last(const struct ha *h)
{
    const struct leader *x = (const struct leader *)h;

    return x->token == x->lease->token;
}

void lease_thaw(struct ha *base)
{
    struct leader *h = (struct leader *)base;
    struct player *p = h->lease->player;

    h->frozen = false;
    h->look_ms = player_now_ms(p) + player_chance(p, LOOK_MOST_MS);
}

/* ---- its server */

void lease_trouble(struct lease *l, enum lease_trouble t)
{
    if (l->leader)
        keep(l->leader); /* what was renewed before */
    l->trouble = t;
}

bool lease_is_well(const struct lease *l)
{
    return l->trouble == LEASE_WELL;
}

bool lease_is_silent(const struct lease *l)
{
    return l->trouble == LEASE_SILENT;
}

uint64_t lease_faults(const struct lease *l)
{
    return l->faults;
}

struct lease *lease_new(struct player *p)
{
    struct lease *l = MEM_NEW(struct lease);

    l->player = p;
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    while (l->rows.n)
        row_drop(l, &l->rows.v[0]);
    free(l->rows.v);
    free(l);
}
