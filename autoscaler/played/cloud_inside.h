/*
 * cloud_inside.h - what the files of the played cloud share.
 *
 * cloud.c is its machines and what befalls them, cloud_calls.c the provider that
 * daemons call, cloud_list.c its list, cloud_find.c its word on each by its id,
 * cloud_offers.c its prices.
 */
#ifndef PLAYED_CLOUD_INSIDE_H
#define PLAYED_CLOUD_INSIDE_H

#include "../provider.h"
#include "cloud.h"

enum { LIST_LAG_MOST_MS = 20000 };

struct vm {
    struct cloud_machine m; /* first */
    struct cloud *cloud;
    struct vm *next; /* of the same launch */
    struct due *up, *gone;
    bool joined; /* the head was told of it */
};

struct request { /* a launch that came in; for ever */
    char id[48];
    struct vm *machines;
};

struct dearness { /* of its prices, from then on, in percent */
    int64_t at_ms;
    uint32_t dear;
};

struct cloud {
    struct player *player;
    struct cloud_opts opts;
    struct cloud_watch watch;
    struct cloud_weather weather, spoil;
    const struct cloud_weather *meets; /* one of the two: of this call */
    enum cloud_says says;              /* in so many lists: */
    uint32_t says_lists;
    uint32_t says_free; /* in so many answers: prices are 0 */
    uint32_t spoil_at;  /* the number of that call; 0 none */
    struct arena arena; /* of types */
    VEC(struct cloud_machine *) there;
    VEC(struct vm *) all; /* ever */
    VEC(struct request *) requests;
    struct hash by_request, by_id;
    VEC(struct cloud_price) told;
    VEC(struct dearness) dearness; /* by time */
    struct asked *late;            /* requests that are still to come in */
    struct handle *handles;        /* those that are open, the newest first */
    uint32_t calls, changes;
    int64_t unread_ms, well_ms;
    uint64_t faults;
};

/* A machine is to be, as an order says. */
struct order {
    const char *request_id, *type, *zone, *cluster, *owner;
    bool spot, added; /* added: by a person */
    uint32_t daemon;
    struct head_machine node; /* lives as long as the cloud */
};
struct vm *vm_new(struct cloud *c, const struct order *o);
/* An end of it was accepted. */
void vm_end(struct vm *vm);
struct cloud *cloud_named(const char *name); /* or NULL */

struct kind { /* a node type, as the settings have it */
    const char *name;
    struct head_machine node;
};

struct handle { /* of a daemon that opened it */
    struct cloud *cloud;
    const struct davit_host *host;
    char cluster[64], owner[64];
    uint32_t daemon, start; /* which one of that number, see player_starts() */
    struct kind *kinds;
    uint32_t n_kinds;
    struct handle *before; /* opened before this one, and open still */
};

enum luck { LUCK_GOOD, LUCK_UNSEEN, LUCK_NO_REPLY, LUCK_LATE, LUCK_TWICE };

/* ---- cloud_calls.c */
/* DAVIT_OK: the call comes in, or seems to: see *luck. */
int call_meets(struct handle *h, struct davit_call *call, bool changes,
               enum luck *luck, struct davit_error *e);
bool call_is_silent(enum luck luck); /* no answer goes out */
int call_no_reply(struct cloud *c, struct davit_error *e);
void asked_free(struct asked *a);
const struct davit_provider *cloud_provider(void);
const struct davit_provider *cloud_provider_priced(void);

/* ---- cloud_list.c: the provider's list() */
int cloud_list(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e);
/* Under that id; lie: DAVIT_FAILED or DAVIT_STOPPING in place of its phase, or
 * -1. */
void cloud_put_machine(const struct cloud *c, const struct cloud_machine *m,
                       const char *id, int lie, struct davit_sink *sink,
                       davit_put_machine *put);
/* What another daemon sees, or one before it that stood still, proves nothing to
 * the one that leads.  (It opens another handle when it reads its file.) */
bool handle_is_newest(const struct handle *h);

/* ---- cloud_find.c: the provider's find() */
int cloud_find(void *self, struct davit_call *call, const char *const *ids,
               size_t n_ids, struct davit_sink *sink, davit_put_done *done,
               struct davit_error *e);

/* ---- cloud_offers.c: the provider's offers() */
void cloud_dearness(struct cloud *c); /* its weather is another one */
int cloud_offers(void *self, struct davit_call *call, struct davit_sink *sink,
                 davit_put_offer *put, struct davit_error *e);

#endif
