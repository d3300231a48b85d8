/*
 * offer.c - see offer.h.
 */
#include "offer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TAINT_VALUE_MAX 63 /* of Kubernetes */

static void add(struct kit_offer *o, struct kit_facts *of, const char *key,
                const char *value)
{
    if (of->n < KIT_FACTS_MAX)
        of->v[of->n++] = (struct davit_kv){kit_keep_text(&o->keep, key),
                                           kit_keep_text(&o->keep, value)};
}

void kit_fact_set(struct kit_offer *o, struct kit_facts *of, const char *key,
                  const char *value)
{
    for (size_t i = 0; i < of->n; i++)
        if (strcmp(of->v[i].key, key) == 0) {
            of->v[i].value = kit_keep_text(&o->keep, value);
            return;
        }
    add(o, of, key, value);
}

void kit_fact_number(struct kit_offer *o, struct kit_facts *of, const char *key,
                     int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    kit_fact_set(o, of, key, text);
}

void kit_fact_taint(struct kit_offer *o, const char *key, const char *value,
                    size_t n, const char *effect)
{
    char made[100];
    effect = kit_taint_effect(effect);
    if (!effect || key[0] == '\0')
        return;
    snprintf(made, sizeof made, "%.*s:%s",
             (int)(n < TAINT_VALUE_MAX ? n : TAINT_VALUE_MAX), value, effect);
    for (size_t i = 0; i < o->taints.n; i++)
        if (strcmp(o->taints.v[i].key, key) == 0 &&
            strcmp(o->taints.v[i].value, made) == 0)
            return;
    add(o, &o->taints, key, made);
}

static uint32_t clipped(double n)
{
    return n >= UINT32_MAX ? UINT32_MAX - 1 : n > 0 ? (uint32_t)n : 0;
}

uint32_t kit_quota_add(struct kit_quotas *q, double left, int64_t each,
                       const char *name, ...)
{
    uint32_t more = clipped(left / (double)each);
    va_list args;
    if (more < q->most)
        q->most = more;
    if (q->n == KIT_QUOTAS_MAX)
        return more;
    va_start(args, name);
    vsnprintf(q->names[q->n], sizeof *q->names, name, args);
    va_end(args);
    q->v[q->n] = (struct davit_quota){q->names[q->n], clipped(left),
                                      clipped((double)each)};
    q->n++;
    return more;
}

void kit_quotas_set(const struct kit_quotas *q, struct davit_offer *ret)
{
    ret->quotas = q->v;
    ret->n_quotas = q->n;
    ret->most = q->most < UINT32_MAX ? q->most : 0;
    ret->available = ret->available && q->most > 0;
}

void kit_offer_put(const struct kit_offer *o, const struct davit_offer *as,
                   struct davit_sink *sink, davit_put_offer *put)
{
    struct davit_offer all = *as;
    all.size = sizeof all;
    all.resources = o->resources.v;
    all.n_resources = o->resources.n;
    all.labels = o->labels.v;
    all.n_labels = o->labels.n;
    all.taints = o->taints.v;
    all.n_taints = o->taints.n;
    put(sink, &all);
}
