/*
 * beside.h - daemons of the same cluster that are at work beside this one.
 *
 * As it lists, each daemon leaves its name and a stamp where the machines are, where a
 * plug-in can do that, and reads what others left there.  At work is one whose stamp
 * changes while this one looks: clocks are not compared, and a daemon that was
 * killed, or an earlier process of this one, never is.
 * Control thread only.
 */
#ifndef CONTROL_PROVIDERS_BESIDE_H
#define CONTROL_PROVIDERS_BESIDE_H

#include "../ledger.h"

struct call;

struct neighbour {
    char who[64], provider[32];
    int64_t stamp;
    int64_t seen_ms; /* mono: when the stamp changed last */
    bool at_work;
};

struct beside {
    VEC(struct neighbour) all; /* heap */
};

void beside_done(struct beside *b);
enum { WHO_TEXT = 32 };
/* This process, by a name that no other one has. */
void beside_who(const struct ledger *l, char ret[WHO_TEXT]);
/* A good list of the provider has come, with what others left there.  True: another
 * one is at work, or is not any more. */
bool beside_met(struct beside *b, const struct ledger *l, const char *cluster,
                const char *provider, const struct call *list);
/* The one at work that was seen last, of that provider (NULL: of any); NULL: none. */
const struct neighbour *beside_last(const struct beside *b,
                                    const char *provider);
/* Is the machine of one that is at work? */
bool beside_has(const struct beside *b, const struct machine *m);

#endif
