/*
 * providers.h - the providers of the configuration: their lists of machines,
 * their offers, the calls in flight.
 *
 * Reads the configuration.  Changes machines in the ledger as lists and answers
 * tell of them (started, failed, gone, adopted), and its back-offs.  Laws:
 * absence is death by the table of settle.h only; a list in which many vanish at
 * once is a failed one; a machine we did not know is adopted, or held when it
 * may be somebody else's (ours.h).  What has failed or is taken back is only
 * marked here: ends.h has the one road to an end.
 * Control thread only.
 */
#ifndef CONTROL_PROVIDERS_H
#define CONTROL_PROVIDERS_H

#include "../../cloud/traffic.h"
#include "../configuration.h"
#include "../ledger.h"
#include "../ours.h"
#include "../prices/past.h"
#include "beside.h"

/* What the cloud lets one have of several offers of a provider together. */
struct known_quota {
    const char *name;
    uint64_t left;    /* as the provider said, */
    uint64_t counted; /* when our machines took so much */
    uint64_t taken;   /* they take now: quotas_count() */
};
struct known_takes { /* of an offer */
    uint32_t quota, each;
};

/* A provider of this generation, and how its reading goes.  A generation in which
 * its settings are as before takes it over: what it was asked still counts, and
 * only its handle is new. */
struct provider_state {
    struct provider *provider;
    const struct conf_provider *conf;
    bool listing;                          /* a list call is in flight */
    bool offering;                         /* an offers call is in flight */
    int64_t list_due_ms, list_last_ms;     /* mono */
    int64_t offers_due_ms, offers_last_ms; /* mono */
    int64_t ends_due_ms; /* mono: while ends hang, none leaves before */
    bool awaited;        /* its first offers are: nothing is bought anywhere, */
    int64_t await_until_ms; /* mono: until then at most */
    uint32_t held;          /* machines that the last list holds */
    int64_t listed_ms;      /* wall, last good list; 0 never */
    int64_t list_begun_ms;  /* wall, when that was asked for */
    int64_t launched_ms;    /* wall: its last launch left, or was answered; at
                             * first, when it was opened: there may have been
                             * one before */
    int64_t over_ms;        /* wall: what its launches so far may make is made
                             * by then; one that nobody answered may come in
                             * for a minute.  As launches_over_note() had it */
    uint32_t machines;      /* in that list */
    int64_t short_since_ms; /* wall: its lists lack many at once; 0 */
    uint32_t short_by;      /* how many, without what a witness confirms */
    bool short_asked;       /* again, since witnesses came */
    bool short_believed;    /* a person said that they are gone */
    int64_t told_ms;        /* wall, its last list that came, believed or not */
    bool elsewhere;         /* not where its machines are: it is not asked */
    bool ends_first; /* no launch leaves: ends wait for a list without one */
    uint32_t list_failures;     /* in a row */
    char problem[256];          /* "" when all is well */
    struct arena offered;       /* what known_offers of it point to, and */
    struct known_quota *quotas; /* of its offers */
    uint32_t n_quotas;
    uint64_t differs; /* hash of the differences reported last */
};

enum { SHORT_MS = 600000 }; /* so long a list that lacks many is doubted */

/* What a provider says of an offer. */
struct known_offer {
    char provider[32], type[64], zone[48];
    bool spot, available;
    bool told; /* in the answer that is being read */
    int64_t price_micros_hour;
    bool price_doubted;     /* the last answer had one that is not believed */
    struct price_past past; /* what it was before */
    struct taints taints;   /* more than the type's */
    struct pairs labels;    /* of its nodes */
    struct qtys resources;  /* what pods get there, as far as told */
    const char *note;       /* what goes on there, or "" */
    uint32_t most;    /* more that may be launched, UNLIMITED: not known; */
    uint32_t counted; /* there were so many of it when that was said */
    const struct known_takes *takes; /* of its provider's quotas */
    uint32_t n_takes;
};

/* A call that has left and is not back. */
struct call_in_flight {
    struct call *call;
    struct provider_state *of; /* NULL: whose settings are others now, so that
                                * only what it did counts */
    int64_t deadline_ms;       /* mono */
    int64_t overdue_ms;        /* mono: since then it hangs, when overdue */
    bool overdue;
};
enum { LAST_CHANCE_MS = 3000 }; /* past the deadline, before it is overdue */

struct providers {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    bool join_elsewhere;     /* a machine is ready when a demand source says
                              * so, not when it runs */
    struct traffic *traffic; /* of all of them with their clouds */
    VEC(struct provider_state *) all; /* heap, as the two below */
    VEC(struct provider *) retired;   /* closed when their last call is back, */
    uint32_t closing;                 /* and so many are being closed */
    VEC(struct call_in_flight) calls;
    VEC(struct known_offer) offers;
    struct beside beside; /* other daemons, met there */
};

/* Takes the traffic; opens nothing yet. */
void providers_init(struct providers *p, struct env *env, struct ledger *l,
                    const struct configuration *conf, struct traffic *traffic);
void providers_close(struct providers *p);

/* ---- providers.c: those of a configuration */
struct provider_set {
    struct provider_state **v;
    uint32_t n;
};
/* Opens all that the configuration names, or none; errors one a line. */
enum status providers_open(struct providers *p, const struct config *conf,
                           struct provider_set *ret, struct buf *errors);
/* What a load of the configuration ends (docs/ledger.md). */
enum forgetting {
    FORGETS_NOTHING, /* the same text again: but for refused credentials */
    FORGETS_CALLS,   /* another text: not the machines that were of no use, of
                      * providers that go on */
    FORGETS_ALL,     /* a person asked for it */
};
/* Takes the set over in place of those there are, which go on where they are the
 * same. */
void providers_replace(struct providers *p, struct provider_set *set,
                       enum forgetting how);
/* Closes a set that is not taken over. */
void providers_drop(struct providers *p, struct provider_set *set);
/* Closes those of earlier generations whose last call is back: on a worker, as a
 * plug-in may wait for a program of its own. */
void providers_close_retired(struct providers *p);
void provider_closed(struct providers *p, struct mail *mail); /* MAIL_CLOSED */
struct provider_state *provider_find(const struct providers *p,
                                     const char *name); /* or NULL */
/* Did its last list succeed? */
bool provider_is_read(const struct provider_state *s); /* NULL: false */
/* It answers again (NULL), or not, for this reason. */
void provider_problem(struct providers *p, struct provider_state *s,
                      const struct err *e);

/* ---- lists.c: asking for lists and offers, and what they tell */
void providers_poll(struct providers *p);
void provider_listed(struct providers *p, struct provider_state *s,
                     struct call *call);
/* One hangs: another is asked for, later each time. */
void list_hangs(struct providers *p, struct provider_state *s);
void offers_hang(struct providers *p, struct provider_state *s);

/* ---- finds.c: machines that a list lacks are asked for by their ids */
/* Those that its last list lacks, and that were not asked for lately. */
void finds_ask(struct providers *p, struct provider_state *s);
/* s: NULL for settings that are others now. */
void finds_answered(struct providers *p, struct provider_state *s,
                    const struct call *call);
/* Its cloud has it by its id, of late. */
bool find_has(const struct providers *p, const struct machine *m);

/* ---- offers.c */
/* It was opened: a plan without its zones, prices and taints could buy what it
 * would not buy a moment later. */
void offers_await(struct providers *p, struct provider_state *s);
/* What that provider said of its offers holds no longer. */
void offers_drop(struct providers *p, const char *provider);
/* Is any provider's first word awaited? */
bool offers_awaited(const struct providers *p);
void provider_offered(struct providers *p, struct provider_state *s,
                      const struct call *call);
/* Those of which no more may be launched now are asked for each minute: a quota
 * may be raised. */
void offers_used_up(struct providers *p, const struct snapshot *s);
/* What a provider says that its offer costs holds for its machines that run, too, where
 * the file has no price: one that came, or is called otherwise now; all of them. */
void price_settle(struct providers *p, struct machine *m);
void prices_settle(struct providers *p);
/* Something has changed there: they are asked for again soon. */
void offers_soon(struct provider_state *s);
/* How many more the cloud's limits allow: what it said, less machines that have
 * come since, and more for those that have gone.  UNLIMITED: not known. */
uint32_t offer_room(const struct providers *p, const struct known_offer *o);

/* ---- places.c: where they are, and where the journal has their machines */
/* Launches of which nobody knows what came of them. */
uint32_t launches_unanswered(const struct fleet *f, const char *provider);
/* Holds those whose machines are in another place than the settings say;
 * approved: machines go with their place, when that has another name now; else
 * they are forgotten, if all launches there are answered. */
void providers_check_places(struct providers *p, bool approved);

/* ---- quotas.c: what offers share */
/* Takes those of an answer over, in s->offered; the offers of s are known. */
void quotas_take(struct providers *p, struct provider_state *s,
                 const struct call *call);
/* Counts what machines of ours take of them now. */
void quotas_count(const struct providers *p, struct provider_state *s);
/* What is left by that count. */
uint32_t quota_left(const struct known_quota *q);
struct known_offer *known_find(const struct providers *p, const char *provider,
                               const struct call_offer *o); /* or NULL */

/* ---- machines.c: a machine of a good list, or of a launch's answer */
/* The records that those machines may belong to which the ledger does not know. */
struct unmatched {
    const char *provider;
    bool listed; /* of a list, not of a launch's answer */
    struct hash unbound,
        others; /* by launch: without the cloud's id; missing */
    struct hash orphans, unbound_orphans; /* by id, by launch: their provider is
                                           * not configured */
    struct arena arena;
};
void unmatched_make(struct providers *p, const char *provider, bool listed,
                    struct unmatched *ret);
void unmatched_done(struct unmatched *u);
/* listed: by a list, not in a launch's answer.  rest: NULL if the ledger knows it
 * (machine_known()). */
void machine_seen(struct providers *p, const struct provider_state *s,
                  const struct call_machine *cm, bool listed,
                  struct unmatched *rest);
/* Did the last list say otherwise of it than is believed? */
bool machine_in_doubt(const struct machine *m);
/* It is that provider's from now on. */
void machine_moves(struct providers *p, struct machine *m,
                   const char *provider);
/* Machines of names that are no longer configured, and stood for the place that
 * is this provider's: they are its own. */
void machines_renamed(struct providers *p, const char *provider);
/* Is it in the ledger under this id? */
bool machine_known(const struct providers *p, const struct provider_state *s,
                   const struct call_machine *cm);
/* A good list that was begun then does not have it: see settle.h. */
void machine_missed(struct providers *p, struct machine *m,
                    int64_t list_begun_ms, int64_t settle_ms);

/* ---- calls.c: the calls in flight */
/* Is a launch under way there that does not hang? */
bool launch_under_way(const struct providers *p,
                      const struct provider_state *s);
void call_send(struct providers *p, struct provider_state *s, struct call *call,
               int64_t timeout_ms);
/* It is none of them any more; what it was. */
struct call_in_flight call_landed(struct providers *p, const struct call *call);
/* Those in flight are what the process waits for as it ends: base/ending.h. */
void calls_ending_tell(const struct providers *p);
/* Their answers are nobody's: that provider is none of this generation. */
void calls_orphan(struct providers *p, const struct provider_state *s);
/* May another call of that kind leave? */
bool calls_room(const struct providers *p, const struct provider_state *s,
                enum call_op op);
/* Do so many hang that none of that kind leaves any more before one returns? */
bool calls_used_up(const struct providers *p, const struct provider_state *s,
                   enum call_op op);
bool lists_hang(const struct providers *p, const struct provider_state *s);
/* While ends hang, one call at a time asks for ends, after a pause that doubles
 * with each that hangs: a machine that is to end now need not wait for those
 * before it, and few threads are lost to a plug-in that never answers. */
bool ends_hang(const struct providers *p, const struct provider_state *s);
bool ends_may_leave(const struct providers *p, const struct provider_state *s);
void ends_pause(struct providers *p, struct provider_state *s); /* one hangs */
/* Has it stopped answering lately? */
bool calls_stuck(const struct providers *p, const struct provider_state *s);
void calls_cancel_reads(struct providers *p); /* none is waited for at the end */

/* ---- answers.c: a call is back, or is not in time */
void providers_fold(struct providers *p, struct mail *mail);
void calls_overdue(struct providers *p);

#endif
