/*
 * offer.h - what the machines of an offer have: resources, labels and taints
 * are gathered one by one, from whatever a cloud says of them, and put at once.
 *
 * Start with {0}; everything is copied and lives until kit_keep_done(&o->keep).
 * What is beyond KIT_FACTS_MAX is left out.  Thread: the owner's.
 */
#ifndef KIT_OFFER_H
#define KIT_OFFER_H

#include "options.h"

#define KIT_FACTS_MAX 64

struct kit_facts {
    struct davit_kv v[KIT_FACTS_MAX];
    size_t n;
};

struct kit_offer {
    struct kit_keep keep;
    struct kit_facts resources, labels, taints;
};

/* The cloud's quotas that machines of an offer take of.  Start with
 * KIT_QUOTAS_NONE; what is beyond KIT_QUOTAS_MAX only lowers most. */
#define KIT_QUOTAS_MAX 8
struct kit_quotas {
    struct davit_quota v[KIT_QUOTAS_MAX];
    char names[KIT_QUOTAS_MAX][128]; /* what v points to: do not copy it */
    size_t n;
    uint32_t most; /* so many more by all of them; UINT32_MAX: none is known */
};
#define KIT_QUOTAS_NONE ((struct kit_quotas){.most = UINT32_MAX})

/* A machine takes `each` (> 0) of what is left of it.  Returns how many more
 * there may be by it alone. */
uint32_t kit_quota_add(struct kit_quotas *q, double left, int64_t each,
                       const char *name, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets quotas and most of an offer, which borrows them; none left: not
 * available. */
void kit_quotas_set(const struct kit_quotas *q, struct davit_offer *ret);

/* Sets a key of one of the three; the last value counts. */
void kit_fact_set(struct kit_offer *o, struct kit_facts *of, const char *key,
                  const char *value);
void kit_fact_number(struct kit_offer *o, struct kit_facts *of, const char *key,
                     int64_t value);
/* A taint, its value n bytes long, its effect as clouds write it; nothing when
 * the effect is none or the key "".  One key may have several. */
void kit_fact_taint(struct kit_offer *o, const char *key, const char *value,
                    size_t n, const char *effect);
/* Puts a copy of `as` that has these facts. */
void kit_offer_put(const struct kit_offer *o, const struct davit_offer *as,
                   struct davit_sink *sink, davit_put_offer *put);

#endif
