/*
 * terms.c - a pod's conditions as the model has them.  See inside.h.
 *
 * The model's terms are In and NotIn.  What they cannot express (Exists, Gt, the
 * product names of GPUs) becomes a probe: a label of its own, named after the
 * condition, that each node and node type carries when the condition holds
 * for it.  So `why` shows the condition as the pod's author wrote it.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"

#define YES "true"

static struct term term_of(struct arena *a, const char *key, enum term_op op,
                           struct names values)
{
    return (struct term){arena_strdup(a, key), op, pods_names_copy(a, values)};
}

static struct term one_term(struct arena *a, const char *key, enum term_op op,
                            const char *value)
{
    return term_of(a, key, op, (struct names){&value, 1});
}

static const char *probe_named(const struct builder *m, const char *name)
{
    for (uint32_t i = 0; i < m->probes.n; i++)
        if (strcmp(m->probes.v[i].name, name) == 0)
            return m->probes.v[i].name;
    return NULL;
}

static bool probe_there(struct builder *m, const struct req *r)
{
    return probe_named(m, pods_req_text(r, m->arena));
}

/* The name of the probe for this condition; NULL: there are too many. */
static const char *probe(struct builder *m, const struct req *r)
{
    const char *name = pods_req_text(r, m->arena);

    if (probe_named(m, name))
        return probe_named(m, name);
    if (m->probes.n == PODS_MAX_PROBES)
        return NULL;
    VEC_PUSH(m->arena, &m->probes,
             ((struct probe){name, pods_req_copy(m->arena, r)}));
    return name;
}

/* "cloud.google.com/gke-spot in (true)" as a term on our market label. */
static bool market_term(struct builder *m, const struct req *r,
                        struct term *ret)
{
    const char *market;

    if ((r->op != REQ_IN && r->op != REQ_NOT_IN) || r->values.n != 1)
        return false;
    market = pods_market(r->key, r->values.v[0]);
    if (!*market)
        return false;
    *ret = one_term(m->arena, "ray.io/market-type",
                    r->op == REQ_IN ? TERM_IN : TERM_NOT_IN, market);
    return true;
}

static bool req_term(struct builder *m, const struct req *r, struct term *ret)
{
    const char *name;

    if (market_term(m, r, ret))
        return true;
    if ((r->op == REQ_IN || r->op == REQ_NOT_IN) &&
        !pods_names_product(r->key)) {
        *ret = term_of(m->arena, r->key,
                       r->op == REQ_IN ? TERM_IN : TERM_NOT_IN, r->values);
        return true;
    }
    name = probe(m, r);
    if (name)
        *ret = one_term(m->arena, name, TERM_IN, YES);
    return name;
}

struct tolerations pods_tolerations_copy(struct arena *a, struct tolerations t)
{
    struct toleration *v = ARENA_ARRAY(a, struct toleration, t.n);

    for (uint32_t i = 0; i < t.n; i++)
        v[i] = (struct toleration){arena_strdup(a, t.v[i].key), t.v[i].op,
                                   arena_strdup(a, t.v[i].value),
                                   t.v[i].effect};
    return (struct tolerations){v, t.n};
}

struct req pods_req_copy(struct arena *a, const struct req *r)
{
    return (struct req){arena_strdup(a, r->key), r->op,
                        pods_names_copy(a, r->values)};
}

struct qtys pods_qtys_copy(struct arena *a, struct qtys q)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, q.n);

    for (uint32_t i = 0; i < q.n; i++)
        v[i] = (struct qty){arena_strdup(a, q.v[i].name), q.v[i].amount};
    return (struct qtys){v, q.n};
}

struct qtys pods_qtys_join(struct arena *a, struct qtys x, struct qtys y)
{
    return (struct qtys){arena_join(a, x.v, x.n, y.v, y.n, sizeof *x.v),
                         x.n + y.n};
}

struct names pods_names_copy(struct arena *a, struct names n)
{
    const char **v = ARENA_ARRAY(a, const char *, n.n);

    for (uint32_t i = 0; i < n.n; i++)
        v[i] = arena_strdup(a, n.v[i]);
    return (struct names){v, n.n};
}

/* What stands for the scheduler's word: see word.c. */
static struct qtys with_untried(struct arena *a, struct qtys needs)
{
    static const struct qty little = {UNTRIED_RESOURCE, 1};

    return pods_qtys_join(a, needs, (struct qtys){&little, 1});
}

struct pairs pods_pairs_copy(struct arena *a, const json_t *labels)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, json_object_size(labels));
    const char *key;
    uint32_t n = 0;
    json_t *x;

    json_object_foreach((json_t *)(uintptr_t)labels, key, x)
        if (json_is_string(x))
            v[n++] = (struct pair){pods_clean(a, key),
                                   pods_clean(a, json_string_value(x))};
    return (struct pairs){v, n};
}

static bool reqs_terms(struct builder *m, const struct reqs *r, struct term *to)
{
    for (uint32_t k = 0; k < r->n; k++)
        if (!req_term(m, &r->v[k], &to[k]))
            return false;
    return true;
}

const struct snap_alt *pods_alts_with(struct builder *m,
                                      const struct snap_alt *alts, uint32_t n,
                                      const struct pod_volumes *volumes,
                                      uint32_t *ret_n)
{
    struct snap_alt *v = ARENA_ARRAY(m->arena, struct snap_alt,
                                     (size_t)n * volumes->n_alts);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < volumes->n_alts && kept < 4 * PODS_MAX_ALTS;
             k++) {
            const struct reqs *more = &volumes->alts[k];
            const struct terms *own = &alts[i].selector;
            struct term *t = ARENA_ARRAY(m->arena, struct term,
                                         own->n + more->n);

            if (own->n)
                memcpy(t, own->v, own->n * sizeof *t);
            if (!reqs_terms(m, more, t + own->n))
                return NULL;
            v[kept] = alts[i];
            v[kept].selector = (struct terms){t, own->n + more->n};
            v[kept++].resources = pods_qtys_join(m->arena, alts[i].resources,
                                                 volumes->needs);
        }
    *ret_n = kept;
    return v;
}

/* Does it need more probes than there may be?  Then it gets none: others need
 * fewer. */
static bool probes_lack(struct builder *m, const struct pod_shape *s)
{
    uint32_t more = 0;
    struct term t;

    for (uint32_t i = 0; i < s->n_alts; i++)
        for (uint32_t k = 0; k < s->alts[i].n; k++) {
            const struct req *r = &s->alts[i].v[k];
            bool plain = (r->op == REQ_IN || r->op == REQ_NOT_IN) &&
                         !pods_names_product(r->key);

            more += !plain && !market_term(m, r, &t) && !probe_there(m, r);
        }
    return more > PODS_MAX_PROBES - m->probes.n;
}

const struct snap_alt *pods_alts(struct builder *m, struct pod_shape *s,
                                 bool waits)
{
    struct tolerations tolerations;
    struct snap_alt *alts;
    struct qtys needs;

    if (s->made[waits] && s->made_for[waits] == m->in->store->views)
        return s->made[waits];
    if (probes_lack(m, s))
        return NULL;
    alts = ARENA_ARRAY(m->arena, struct snap_alt, s->n_alts);
    tolerations = pods_tolerations_copy(m->arena, s->tolerations);
    needs = pods_qtys_copy(m->arena, s->needs);
    if (waits)
        needs = with_untried(m->arena, needs);
    for (uint32_t i = 0; i < s->n_alts; i++) {
        struct term *v = ARENA_ARRAY(m->arena, struct term, s->alts[i].n);
        for (uint32_t k = 0; k < s->alts[i].n; k++)
            if (!req_term(m, &s->alts[i].v[k], &v[k]))
                return NULL;
        alts[i] = (struct snap_alt){needs, {v, s->alts[i].n}, tolerations, 0};
    }
    s->made[waits] = alts;
    s->made_for[waits] = m->in->store->views;
    return alts;
}
