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
