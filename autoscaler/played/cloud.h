/*
 * cloud.h - played clouds behind one provider, "played", in played time.
 *
 * A provider of the configuration says which one it is: `plugin: played`,
 * `cloud: NAME` (left out: the cloud without a name).  The same request id gives
 * the same machines, for ever, and an ended machine is listed until it is gone.
 * Machines boot for as long as chance says, and join the played head that the
 * cloud was given.  `plugin: priced` is the same with offers, which tell what
 * machines cost.  What else befalls a cloud is its weather (struct
 * cloud_weather).  Clouds outlive the daemons that use them.  Times are
 * milliseconds of the player, probabilities are in 1,000.
 */
#ifndef PLAYED_CLOUD_H
#define PLAYED_CLOUD_H

#include "head.h"
#include "player.h"

enum {
    CLOUDS = 8,
    ABSENT_FEW = 3,
    LIES_APART_MS = 180000,
    CLOUD_FOUND_MS = 180000, /* lists have had a machine again for so long:
                             * everybody knows it */
};

struct cloud_opts {
    const char *name; /* "" or NULL: the one without; borrowed */
    uint32_t boot_least_ms, boot_most_ms;
    uint32_t queue_most_ms; /* before that it waits in a queue, at most so long */
    uint32_t end_most_ms;   /* from an accepted end to gone; 0: 30 s */
    uint32_t hosts;    /* machines are hosts, so many, whose names are given
                     * again; 0: each has an id of its own */
    bool finds;        /* it is asked for machines by their ids, too */
    struct head *head; /* where machines join; NULL: nowhere.  Borrowed */
    void (*closes)(void *arg); /* its provider is being closed: may take time */
    void *arg;
};

struct cloud_machine {
    char id[32], request_id[48], type[64], zone[48], cluster[64], owner[64];
    bool spot;
    int64_t launched_ms, listed_ms; /* listed_ms: no list has it before */
    int64_t queued_ms;              /* until then it waits in a queue; 0: not */
    int64_t ready_ms;               /* it runs; INT64_MAX: never */
    int64_t asked_ms;               /* an end of it was accepted; 0 not */
    int64_t gone_ms;                /* INT64_MAX: it is not being ended */
    bool failed;                    /* its start failed: listed as FAILED */
    bool no_gpu, never_joins, refuses_end;
    bool restless;         /* each list has another detail, and address */
    bool by_person;        /* deleted by one, or taken back by the cloud */
    bool added;            /* by a person: no daemon asked for it */
    uint32_t daemon;       /* whose call it came from: player_who() */
    uint32_t end_askers;   /* daemons that called for its end: bits */
    uint32_t lists;        /* good lists that had it; of that daemon, as
                             * all that follows */
    int64_t first_list_ms; /* the first of them was answered; 0 none */
    int64_t told_ms;   /* the answer to its launch had it then; 0: none had */
    int64_t absent_ms; /* since then no good list had it, though it should;
                            * 0: not so */
    int64_t hidden_ms; /* a good list then was the last that anybody would
                             * think it gone by; 0 none */
    int64_t again_ms;  /* since then every good list had it, and not as one
                             * that is going; 0: not so */
    int64_t end_known_ms;  /* who ends it was told of its end then, by an
                             * answer or a list; 0: not so */
    int64_t end_unsure_ms; /* until then a call to end it is under way, or was
                             * not answered: nobody knows what comes of it */
    int64_t end_tried_ms;  /* the last call for its end; 0 none */
    int64_t end_called_ms; /* the call whose effect its end was came in then */
    int64_t lied_ms;  /* a list lacked it then, or had it in a phase that it is
                      * not in; 0 none has */
    int64_t noted_ms; /* a watcher's own */
    uint32_t noted;   /* likewise */
    int64_t noted_end_ms;     /* likewise */
    int64_t noted_life_ms;    /* likewise */
    bool noted_joined;        /* likewise */
    bool noted_came;          /* likewise */
    struct head_machine node; /* what it is as a node */
};

struct cloud;

/* Registers the provider. */
struct cloud *cloud_new(struct player *p, const struct cloud_opts *o);
void cloud_free(struct cloud *c);

/* Those that are there now, being ended or not: what the bill says. */
struct cloud_machine *const *cloud_machines(struct cloud *c, uint32_t *ret_n);
/* Of several that had that id: the one that is there, else the last. */
struct cloud_machine *cloud_machine(struct cloud *c, const char *id);
uint32_t cloud_launched(const struct cloud *c); /* machines, in all its life */
uint32_t cloud_calls(const struct cloud *c);
uint32_t cloud_changes(const struct cloud *c);  /* launches and ends asked */
const char *cloud_title(const struct cloud *c); /* its name, "" */

/* ---- who watches */

struct cloud_watch {
    void *arg;
    /* A machine is about to be there; flags may still be set. */
    void (*launched)(void *arg, struct cloud *c, struct cloud_machine *m);
    /* An end was asked by a daemon, and takes effect now: its work is lost. */
    void (*ending)(void *arg, struct cloud *c, struct cloud_machine *m);
    /* A launch left a daemon, whatever comes of it. */
    void (*sent)(void *arg, struct cloud *c, const char *request_id,
                 const char *type, uint32_t count);
    /* A launch has come in; again: with an id that was there before. */
    void (*asked)(void *arg, struct cloud *c, const char *request_id,
                  uint32_t count, bool again);
};
void cloud_watch(struct cloud *c, const struct cloud_watch *w);

/* ---- weather: as long as it lasts */

struct cloud_weather {
    bool down;          /* every call fails at once (RETRY) */
    bool auth;          /* ... with AUTH */
    bool auth_ends;     /* terminate alone answers AUTH */
    bool auth_launches; /* likewise launch */
    bool deaf_launches; /* launch alone does not come in, and fails (RETRY) */
    bool mute_launches; /* launch alone is not answered (RETRY), with effect */
    bool broken;        /* ... with BROKEN */
    bool lists_fail;    /* list alone fails */
    uint32_t throttled; /* answers THROTTLED */
    uint32_t lost_request; /* RETRY, and no effect */
    uint32_t lost_reply;   /* RETRY, with effect */
    uint32_t late_effect;  /* RETRY; the effect comes up to a minute later */
    uint32_t doubled;      /* the request comes in a second time, later */
    uint32_t hangs;        /* its answer comes after hang_ms */
    uint32_t end_hangs;    /* likewise, terminate alone; it has no effect */
    uint32_t hang_ms;
    uint32_t cut_list;    /* OK, with half of the machines */
    uint32_t drops, lies; /* of 1,000 rows of a list: it lacks a machine once,
                            * or says that it failed or is being ended, once:
                            * not again within LIES_APART_MS */
    uint32_t mute_ids;    /* of 1,000 ids that are asked for, it says nothing */
    bool other_ids;       /* answers of launches have ids that no list has */
    uint32_t partial;     /* a launch gives a part, and an error */
    bool async;           /* launch says OK, and nothing of its machines */
    uint32_t made_late_ms; /* launch says OK, and makes them so much later, at
                            * most */
    bool invalid_ends;     /* terminate alone answers INVALID */
    uint32_t list_lag_ms;  /* a new machine is in no list before */
    uint32_t stockout; /* a bit for each offer: hash of type, zone, market */
    uint32_t quota;    /* machines alive; 0: no limit */
    bool invalid;      /* launches answer INVALID */
    bool lacks;        /* launches answer NOT_FOUND */
    uint32_t start_fails, no_gpu, never_joins, refuses_end; /* new machines */
    uint32_t restless;    /* likewise: their details and addresses change for
                          * ever */
    uint32_t dies_young;  /* likewise: their raylets die within seconds */
    uint32_t boot_factor; /* boots take so many times longer; 0: 1 */
    uint32_t dear;        /* prices, in percent of the usual; 0: 100 */
};
void cloud_weather(struct cloud *c, const struct cloud_weather *w);
/* So many lists from now say that of every machine. */
enum cloud_says {
    CLOUD_SAYS_TRUTH,
    CLOUD_SAYS_NOTHING, /* it lacks them */
    CLOUD_SAYS_FAILED,
    CLOUD_SAYS_STOPPING,
    CLOUD_SAYS_STRANGE /* a phase that there is not */
};
void cloud_say(struct cloud *c, enum cloud_says what, uint32_t lists);
/* So many answers from now, with offers, say that all of them cost nothing. */
void cloud_say_free(struct cloud *c, uint32_t answers);
/* Since when no list can go well, in its weather; 0: one can. */
int64_t cloud_unread_ms(const struct cloud *c);
/* Since when nothing befalls its calls; 0: something does. */
int64_t cloud_well_ms(const struct cloud *c);
/* The n-th call from now, and no other, meets that weather. */
void cloud_spoil(struct cloud *c, uint32_t n, const struct cloud_weather *w);
uint64_t cloud_faults(const struct cloud *c); /* calls and machines spoilt */

/* What its machines have cost so far, each by the price of the moment. */
double cloud_bill(const struct cloud *c); /* micros */

/* What a daemon was told that a type costs, the newest last. */
struct cloud_price {
    char type[64];
    bool spot;
    uint32_t daemon, start; /* player_who(), player_starts() */
    int64_t micros_hour;
    int64_t first_ms; /* an answer with it came in time then, the first that did;
                       * 0: none has */
};
const struct cloud_price *cloud_prices(const struct cloud *c, uint32_t *ret_n);

/* ---- what people, and the cloud itself, do to a machine */

void cloud_kill(struct cloud *c, struct cloud_machine *m); /* gone at once */
/* Taken back: listed as STOPPING, gone after ms. */
void cloud_take_back(struct cloud *c, struct cloud_machine *m, int64_t ms);
void cloud_reboot(struct cloud *c, struct cloud_machine *m, int64_t ms);
/* A machine like that one, which nobody's ledger knows; NULL request: "". */
struct cloud_machine *cloud_add(struct cloud *c, const struct cloud_machine *m,
                                const char *request_id);

#endif
