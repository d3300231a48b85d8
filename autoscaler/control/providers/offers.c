/*
 * offers.c - prices and zones as the providers give them.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../cloud/offer_check.h"
#include "../prices/agreed.h"
#include "../type_names.h"
#include "providers.h"

enum {
    OFFERS_MS = 600000,
    OFFERS_AGAIN_MS = OFFERS_MS / 10, /* after a failure; while one is closed */
    OFFERS_SOON_MS = 10000,           /* at most so often */
    AWAIT_MS = 10000,                 /* the first ones */
    AWAIT_AGAIN_MS = 1000,            /* after a failure of these */
    FALLS_TO = 10, /* a price, to this part: one answer is not enough */
};

struct known_offer *known_find(const struct providers *p, const char *provider,
                               const struct call_offer *o)
{
    for (uint32_t i = 0; i < p->offers.n; i++) {
        struct known_offer *k = &p->offers.v[i];

        if (k->spot == o->spot && strcmp(k->provider, provider) == 0 &&
            strncmp(k->type, o->type, sizeof k->type - 1) == 0 &&
            strncmp(k->zone, o->zone, sizeof k->zone - 1) == 0)
            return k;
    }
    return NULL;
}

void offers_drop(struct providers *p, const char *provider)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->offers.n; i++)
        if (strcmp(p->offers.v[i].provider, provider) != 0)
            p->offers.v[kept++] = p->offers.v[i];
    p->offers.n = kept;
}

/* Machines of this type and market: a cloud's limits are wider than a zone. */
static uint32_t machines_of(const struct fleet *f, const char *type, bool spot)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++)
        n += f->v[i]->state != STATE_GONE && f->v[i]->spot == spot &&
             strcmp(f->v[i]->type, type) == 0;
    return n;
}

uint32_t offer_room(const struct providers *p, const struct known_offer *o)
{
    uint64_t all = (uint64_t)o->most + o->counted, now;

    if (o->most == UNLIMITED)
        return UNLIMITED;
    now = machines_of(&p->ledger->fleet, o->type, o->spot);
    all = all > now ? all - now : 0;
    return all < UNLIMITED ? (uint32_t)all : UNLIMITED;
}

/* Those that its provider does not tell of any more go. */
static void offers_begin(struct providers *p, const char *provider)
{
    for (uint32_t i = 0; i < p->offers.n; i++)
        if (strcmp(p->offers.v[i].provider, provider) == 0)
            p->offers.v[i].told = false;
}

static void offers_end(struct providers *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->offers.n; i++)
        if (p->offers.v[i].told)
            p->offers.v[kept++] = p->offers.v[i];
    p->offers.n = kept;
}

static struct pairs labels_keep(struct arena *a, struct pairs p)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, p.n);

    for (uint32_t i = 0; i < p.n; i++)
        v[i] = (struct pair){arena_strdup(a, p.v[i].key),
                             arena_strdup(a, p.v[i].value)};
    return (struct pairs){v, p.n};
}

/* Price lists have holes.  Less than a tenth of what it was, or nothing from the
 * first, is a price when two answers in a row have it. */
static int64_t price_believed(struct known_offer *k, int64_t told)
{
    int64_t was = k->price_micros_hour;
    bool odd = told >= 0 && (was < 0 ? told == 0 : told < was / FALLS_TO);

    k->price_doubted = odd && !k->price_doubted;
    return k->price_doubted ? was : told;
}

/* What a kubelet leaves to pods and no machine type tells; the rest is checked
 * against what the node type promises. */
static bool is_kubelets(const char *name)
{
    return strcmp(name, "pods") == 0 ||
           strcmp(name, "ephemeral-storage") == 0 ||
           strncmp(name, "hugepages-", 10) == 0;
}

static struct qtys resources_keep(struct arena *a, struct qtys q)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, q.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < q.n; i++)
        if (is_kubelets(q.v[i].name))
            v[n++] = (struct qty){arena_strdup(a, q.v[i].name), q.v[i].amount};
    return (struct qtys){v, n};
}

/* Of an offer that comes twice the later one counts. */
static void known_put(struct providers *p, const char *provider,
                      const struct call_offer *o, struct taints taints,
                      struct pairs labels, struct qtys resources,
                      const char *note)
{
    struct known_offer *k = known_find(p, provider, o);

    if (!k) {
        VEC_PUSH(
            NULL, &p->offers,
            ((struct known_offer){.spot = o->spot, .price_micros_hour = -1}));
        k = &p->offers.v[p->offers.n - 1];
        snprintf(k->provider, sizeof k->provider, "%s", provider);
        snprintf(k->type, sizeof k->type, "%s", o->type);
        snprintf(k->zone, sizeof k->zone, "%s", o->zone);
    }
    k->available = o->available;
    k->told = true;
    k->price_micros_hour = price_believed(k, o->price_micros_hour);
    price_past_note(&k->past, k->price_micros_hour, p->env->mono_ms);
    k->taints = taints;
    k->labels = labels;
    k->resources = resources;
    k->note = note;
    k->most = o->most;
    k->counted = machines_of(&p->ledger->fleet, o->type, o->spot);
}

static const struct known_offer *offer_of(const struct providers *p,
                                          const struct machine *m)
{
    for (uint32_t i = 0; i < p->offers.n; i++) {
        const struct known_offer *k = &p->offers.v[i];

        if (k->spot == m->spot && strcmp(k->type, m->type) == 0 &&
            (!*k->zone || strcmp(k->zone, m->zone) == 0) &&
            strcmp(k->provider, m->provider) == 0)
            return k;
    }
    return NULL;
}

void price_settle(struct providers *p, struct machine *m)
{
    const struct known_offer *k = offer_of(p, m);

    if (k)
        type_name_told(p->ledger, m, p->conf->now, k->price_micros_hour);
    agreed_settle(p->ledger, m, p->conf->now);
}

void prices_settle(struct providers *p)
{
    struct fleet *f = &p->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++)
        price_settle(p, f->v[i]);
}

/* All that a plan, or a person, goes by.  That machines of ours have come or
 * gone changes nothing of it. */
static uint64_t known_hash(const struct providers *p, struct provider_state *s)
{
    uint64_t h = HASH_SEED;

    quotas_count(p, s);
    for (uint32_t i = 0; i < s->n_quotas; i++)
        h = hash_number(hash_text(h, s->quotas[i].name),
                        quota_left(&s->quotas[i]));
    for (uint32_t i = 0; i < p->offers.n; i++) {
        const struct known_offer *k = &p->offers.v[i];

        if (strcmp(k->provider, s->conf->name) != 0)
            continue;
        h = hash_text(hash_text(hash_text(h, k->type), k->zone), k->note);
        h = hash_number(h, (uint64_t)k->spot << 1 | k->available);
        h = hash_number(h, (uint64_t)k->price_micros_hour);
        h = hash_number(h, offer_room(p, k));
        h = hash_bytes(h, k->takes, k->n_takes * sizeof *k->takes);
        for (uint32_t t = 0; t < k->taints.n; t++) {
            h = hash_text(h, k->taints.v[t].key);
            h = hash_text(h, k->taints.v[t].value);
            h = hash_number(h, k->taints.v[t].effect);
        }
        for (uint32_t r = 0; r < k->resources.n; r++)
            h = hash_number(hash_text(h, k->resources.v[r].name),
                            (uint64_t)k->resources.v[r].amount);
        for (uint32_t t = 0; t < k->labels.n; t++)
            h = hash_text(hash_text(h, k->labels.v[t].key),
                          k->labels.v[t].value);
    }
    return h;
}

struct differing {
    struct env *env;
    bool report;
    uint64_t hash;
};

static void type_differs(void *arg, const char *type, const char *text)
{
    struct differing *d = arg;

    d->hash = hash_text(d->hash, text);
    if (d->report)
        emit(d->env, "type.differs", type, "", "%s", text);
}

/* Reported once, and again when something else differs. */
static void compare(struct providers *p, struct provider_state *s,
                    const struct call *call, struct arena *a)
{
    for (int report = 0; report < 2; report++) {
        struct differing d = {p->env, report == 1, HASH_SEED};

        offers_check(p->conf->now, s->conf->name, call->offers.v,
                     call->offers.n, a, type_differs, &d);
        if (s->differs == d.hash)
            return;
        if (report)
            s->differs = d.hash;
    }
}

/* Told when it begins and when it ends. */
static void closed_tell(struct providers *p, struct provider_state *s,
                        const struct call_offer *o)
{
    const struct known_offer *k = known_find(p, s->conf->name, o);
    bool was = !k || k->available;

    if (was != o->available)
        emit(p->env, o->available ? "offer.open" : "offer.closed", o->type, "",
             "%s%s%s%s%s%s", s->conf->name, *o->zone ? " " : "", o->zone,
             o->spot ? ", spot" : "", *o->note ? ": " : "", o->note);
}

void offers_soon(struct provider_state *s)
{
    int64_t soon = s->offers_last_ms + OFFERS_SOON_MS;

    if (s->offers_due_ms > soon)
        s->offers_due_ms = soon;
}

void offers_used_up(struct providers *p, const struct snapshot *s)
{
    for (uint32_t i = 0; i < s->n_types; i++) {
        const struct snap_type *t = &s->types[i];
        struct provider_state *of = provider_find(p, t->provider);
        int64_t again = of ? of->offers_last_ms + OFFERS_AGAIN_MS : 0;

        for (uint32_t k = 0; of && k < t->n_offers; k++)
            if (t->offers[k].room == 0 && of->offers_due_ms > again)
                of->offers_due_ms = again;
    }
}

void offers_await(struct providers *p, struct provider_state *s)
{
    s->awaited = provider_caps(s->provider) & DAVIT_CAP_OFFERS;
    s->await_until_ms = p->env->mono_ms + AWAIT_MS;
}

bool offers_awaited(const struct providers *p)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        if (p->all.v[i]->awaited && !p->all.v[i]->elsewhere &&
            p->env->mono_ms < p->all.v[i]->await_until_ms)
            return true;
    return false;
}

static void await_on(struct providers *p, struct provider_state *s, bool on)
{
    bool was = s->awaited;

    s->awaited = on && s->offers_due_ms < s->await_until_ms;
    if (was && !s->awaited)
        p->env->news = true; /* the wait is over */
}

/* When they are asked for next, and whether their first word is still awaited. */
static void offers_schedule(struct providers *p, struct provider_state *s,
                            const struct call *call)
{
    bool good = call->status == ST_OK, awaited = s->awaited;
    int64_t pause = good ? OFFERS_MS : OFFERS_AGAIN_MS;

    if (!good && awaited && call->status != ST_UNSUPPORTED)
        pause = AWAIT_AGAIN_MS;
    else if (awaited)
        pause = OFFERS_AGAIN_MS; /* what takes a while to learn may come then */
    for (uint32_t i = 0; good && i < call->offers.n; i++)
        if (!call->offers.v[i].available)
            pause = OFFERS_AGAIN_MS;
    s->offering = false;
    s->offers_due_ms = p->env->mono_ms + pause;
    await_on(p, s, awaited && pause == AWAIT_AGAIN_MS);
}

/* A price of nothing is no first word: what would be bought at its estimate until the
 * next one is asked for might be the wrong one, and end with it. */
static void first_doubted(struct providers *p, struct provider_state *s)
{
    s->offers_due_ms = p->env->mono_ms + AWAIT_AGAIN_MS;
    await_on(p, s, true);
}

void provider_offered(struct providers *p, struct provider_state *s,
                      const struct call *call)
{
    const char *name = s->conf->name;
    bool first = s->awaited, doubted = false;
    uint64_t before;

    offers_schedule(p, s, call);
    if (call->status != ST_OK)
        return;
    for (uint32_t i = 0; i < call->offers.n; i++)
        closed_tell(p, s, &call->offers.v[i]);
    before = known_hash(p, s);
    offers_begin(p, name);
    arena_reset(&s->offered);
    compare(p, s, call, &s->offered);
    for (uint32_t i = 0; i < call->offers.n; i++) {
        const struct call_offer *o = &call->offers.v[i];
        const struct conf_type *t = type_find(p->conf->now, o->type);

        known_put(p, name, o,
                  t ? offer_more_taints(&t->fact, o->taints, &s->offered)
                    : (struct taints){0},
                  labels_keep(&s->offered, o->labels),
                  resources_keep(&s->offered, o->resources),
                  arena_strdup(&s->offered, o->note));
        doubted = doubted || known_find(p, name, o)->price_doubted;
    }
    if (doubted && first)
        first_doubted(p, s);
    else if (doubted)
        offers_soon(s);
    offers_end(p);
    quotas_take(p, s, call);
    prices_settle(p);
    if (known_hash(p, s) != before)
        p->env->news = true; /* a price, a quota, the end of a stockout */
}
