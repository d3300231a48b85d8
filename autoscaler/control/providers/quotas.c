/*
 * quotas.c - what several offers of a provider share: the cloud's quotas, and what
 * machines of ours have taken of them since the provider was asked.
 */
#include <string.h>

#include "../../base/hash.h"
#include "providers.h"

static uint64_t key_of(const char *type, bool spot)
{
    return hash_number(hash_text(HASH_SEED, type), spot);
}

/* The offer of its zone; else one of its type and market, as a quota is mostly
 * wider than a zone. */
static const struct known_offer *offer_of(const struct providers *p,
                                          const struct hash *by_type,
                                          const struct machine *m)
{
    const struct known_offer *any = NULL, *o;
    uint64_t key = key_of(m->type, m->spot);

    for (uint32_t at = 0, i;
         (i = hash_next_index(by_type, key, &at)) != HASH_NONE;) {
        o = &p->offers.v[i];
        if (o->spot != m->spot || strcmp(o->type, m->type) != 0)
            continue;
        if (strcmp(o->zone, m->zone) == 0)
            return o;
        any = any ? any : o;
    }
    return any;
}

void quotas_count(const struct providers *p, struct provider_state *s)
{
    const struct fleet *f = &p->ledger->fleet;
    struct hash by_type = {0};

    if (s->n_quotas == 0)
        return;
    for (uint32_t i = 0; i < s->n_quotas; i++)
        s->quotas[i].taken = 0;
    for (uint32_t i = 0; i < p->offers.n; i++)
        if (strcmp(p->offers.v[i].provider, s->conf->name) == 0)
            hash_add_index(&by_type,
                           key_of(p->offers.v[i].type, p->offers.v[i].spot), i);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct known_offer *o = NULL;

        if (f->v[i]->state != STATE_GONE &&
            strcmp(f->v[i]->provider, s->conf->name) == 0)
            o = offer_of(p, &by_type, f->v[i]);
        for (uint32_t k = 0; o && k < o->n_takes; k++)
            s->quotas[o->takes[k].quota].taken += o->takes[k].each;
    }
    hash_done(&by_type);
}

uint32_t quota_left(const struct known_quota *q)
{
    uint64_t all = q->left + q->counted;

    all = all > q->taken ? all - q->taken : 0;
    return all < UNLIMITED ? (uint32_t)all : UNLIMITED - 1;
}

/* Where offers say different things of one, the least counts. */
static uint32_t quota_of(struct provider_state *s, const struct snap_quota *q)
{
    uint32_t i = 0;

    while (i < s->n_quotas && strcmp(s->quotas[i].name, q->name) != 0)
        i++;
    if (i == s->n_quotas)
        s->quotas[s->n_quotas++] = (struct known_quota){
            .name = arena_strdup(&s->offered, q->name), .left = q->left};
    else if (q->left < s->quotas[i].left)
        s->quotas[i].left = q->left;
    return i;
}

void quotas_take(struct providers *p, struct provider_state *s,
                 const struct call *call)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < call->offers.n; i++)
        most += call->offers.v[i].quotas.n;
    s->quotas = ARENA_ARRAY(&s->offered, struct known_quota, most);
    s->n_quotas = 0;
    for (uint32_t i = 0; i < call->offers.n; i++) {
        const struct snap_quotas *q = &call->offers.v[i].quotas;
        struct known_offer *k = known_find(p, s->conf->name,
                                           &call->offers.v[i]);
        struct known_takes *v = ARENA_ARRAY(&s->offered, struct known_takes,
                                            q->n);

        for (uint32_t j = 0; j < q->n; j++)
            v[j] = (struct known_takes){quota_of(s, &q->v[j]), q->v[j].each};
        k->takes = v;
        k->n_takes = q->n;
    }
    quotas_count(p, s);
    for (uint32_t i = 0; i < s->n_quotas; i++)
        s->quotas[i].counted = s->quotas[i].taken;
}
