/*
 * fleet.h - our ledger of machines.
 *
 * Owned by the control thread.  Every move goes through fleet_move(), which
 * asserts that it is legal and tells the observer (the journal).  Records are
 * never reused while somebody may hold their index: they are removed by
 * fleet_sweep() at the end of a tick, and freed when no page shows their texts.
 */
#ifndef MODEL_FLEET_H
#define MODEL_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/err.h"
#include "../base/hash.h"
#include "../base/texts.h"
#include "offer.h"
#include "reason.h"
#include "state.h"

/* Found in the cloud, not launched by this ledger?  And if so, whose is it
 * (control/ours.h)?  Kept by number in the journal. */
/* What keeps an end from being asked for, in the last step. */
enum end_held {
    END_HELD_NOT,
    END_HELD_BRAKE, /* limits.max_ends */
    END_HELD_FILE,  /* a file that is held wants it */
    END_HELD_PRICE  /* a price that rose */
};

enum adoption {
    ADOPTED_NOT,
    ADOPTED,             /* ours */
    ADOPTED_NEW_JOURNAL, /* it was there before this journal */
    ADOPTED_OTHER_OWNER, /* its launch carries another daemon's mark */
    ADOPTED_BY_PERSON    /* ours: `davit adopt` said so */
};

/* What is not known for sure of a machine, and what settles it.  Times are
 * wall; 0: never, or not so. */
#define TIME_UNWATCHED (INT64_C(1) << 50) /* of a way that nobody saw */

struct maybe {
    int64_t sent_ms;      /* its launch left last; 0: it never did */
    int64_t missing_ms;   /* the first of the good lists in a row without it */
    int64_t deadline_ms;  /* until when the source gave its work time */
    int64_t ended_ms;     /* its end was confirmed: by the cloud, or as it was
                         * asked for */
    int64_t end_doubt_ms; /* its end was asked for, and not refused for sure:
                           * it may still come */
    int64_t leaves_ms;    /* about then; 0: nothing is known of a time */
    int64_t sought_ms; /* its cloud was asked for it by its id, since lists lack
                        * it; 0: it was not */
    int64_t found_ms;  /* asked then, and had it; 0: it did not say so */
    int64_t blind_since_ms; /* on its way, and nobody can see it since; 0: not */
    int64_t blind_ms;       /* duration: it was so before */
    int64_t unwatched_ms; /* duration: so much of its way, at most, nobody saw:
                             * how long it took is known as exactly as that */
    int64_t said_ms;      /* its cloud says `said` since then; 0: nothing yet */
    int64_t agreed_ms;    /* the answer came by which its source drains it */
    int64_t undrained_ms; /* a view said first that it does not; 0: none since */
    uint64_t shown_by; /* who showed its join token first, by hash; 0: that is
                        * not known */
    uint32_t said;     /* the phase in which its cloud had it last */
    unsigned known_by; /* what stood for the node that it is known as: 1 + enum
                        * claim; 0: not known */
    bool given_up;  /* its launch is not sent again, nor after a restart; a list
                    * tells */
    bool doubt : 1; /* a call for its launch was not answered: it may exist */
    bool unlisted : 1;  /* a list that could know of its last send lacks it */
    bool taken : 1;     /* the cloud takes it back: its list says so */
    bool leaving : 1;   /* it will: its node, or a list says so, or its
                        * reservation ends */
    bool expires : 1;   /* that is why */
    bool noticed : 1;   /* likewise: its cloud's list says so */
    bool queued : 1;    /* its cloud's last list has it in a queue */
    bool alive : 1;     /* the demand source's last view has its node, ready */
    bool lost : 1;      /* and has it no more: a witness that it is gone */
    bool dead : 1;      /* it has it as dead or not ready, or lost it: a witness
                        * that the machine is gone */
    bool lived : 1;     /* the last view that had its node had it alive */
    bool unasked : 1;   /* its end was asked for before it was missing: that is
                        * no word on what nobody knows of now */
    bool claimed : 1;   /* several nodes say that they are it ... */
    bool contested : 1; /* ... and nothing decides between them */
    bool lacks : 1;     /* what its node type promises */
    bool failed : 1;    /* its cloud lists it as one that never came up */
    bool end_sent : 1;  /* its cloud was asked to end it */
    bool interrupted : 1; /* that it was taken back is remembered */
    bool told : 1;        /* that this takes long */
    bool anew : 1;        /* another daemon launched it while this one ran */
    bool runs : 1;        /* its cloud has said so */
    bool proved : 1;      /* it lived for long enough to be of use */
    bool vain : 1; /* its node was not ready when it was to have proved that */
    bool let_go : 1; /* it may go though it was ready once: a person says so,
                      * or its end was asked for in an earlier life */
};

/* What each text of a machine has room for; there is none of these. */
struct machine_room {
    char request_id[40], provider[32], type[64], zone[48], cloud_id[128],
        address[64], ray_id[256], config_hash[20], detail[160], host_group[64],
        cloud_holds[160];
};
#define MACHINE_ROOM(field) (sizeof(((struct machine_room *)0)->field))

/* Its texts are never NULL, and set by MACHINE_SET() alone: a page may still have
 * those of before (base/texts.h).  Of a record without a fleet they are whoever's. */
struct machine {
    char id[48]; /* ours: "<type>-<8 hex>-<n>", also the Ray node's name; it
                  * never changes */
    const char *request_id; /* idempotency key of the launch it came from */
    const char *provider, *type, *zone;
    const char *cloud_id; /* "" until the provider answered */
    const char *address;
    const char *ray_id;      /* the head's id of it: hex, or the name of a
                              * Kubernetes node; "" until it joined */
    const char *config_hash; /* of the node type it was launched from */
    const char *detail;      /* progress, or why it failed; for people */
    const char *asked_by;    /* who asked for cordoned or asked_to_end; "" */
    const char *because;     /* whose request made its launch necessary, though
                              * it is for another: a sentence; "" */
    const char *previous;    /* what the plan that launched it put on it, or
                           * without a demand source the last one: JSON
                           * of codec_previous_write(); "": nothing */
    enum machine_state state;
    enum reason why;     /* for which it was launched, or is being ended */
    enum status failure; /* ST_OK, or how its launch failed */
    uint32_t adopted;    /* enum adoption */
    int64_t created_ms, since_ms, ready_ms; /* wall; ready 0: not yet */
    int64_t price_micros_hour;
    int64_t agreed_micros_hour; /* what of it a person has agreed to, never
                                 * more; -1: not known */
    int64_t progress_ms;        /* last visible progress on its way, wall */
    int64_t seen_ms;            /* in a good list last, wall; 0 never */
    int64_t hold_until_ms;      /* a refused drain rests so long */
    int64_t drain_since_ms;     /* 0: not draining */
    int64_t needed_ms;          /* last needed by a request or a min, wall */
    uint32_t launch_count;      /* how many its launch request asked for */
    bool spot;
    bool drain_accepted; /* the head agreed: no way back */
    bool protected;      /* a user protected it from being ended */
    bool cordoned;       /* a user wants nothing new to be placed on it */
    bool asked_to_end;   /* a user asked to drain and end it */
    /* not kept over a restart: */
    bool needed;     /* it still was by the last plan */
    bool busy;       /* a call for it is in flight */
    bool unread;     /* the journal has a state of it that this version
                             * does not know: it is not ended */
    bool end_agreed; /* a person has seen that it would be ended, and
                             * agreed */
    enum end_held end_held;
    const char *host_group;  /* whose machines end together, by the
                              * provider; "": not known */
    const char *cloud_holds; /* why the cloud will not end it now; "": it may */
    struct maybe maybe;      /* what is not known for sure: ledger's table */
    int64_t awaits_ms;       /* another's running work was to come here then,
                              * wall; 0: never */
    uint32_t refused;        /* drains in a row */
    uint32_t tries;          /* calls made for it in this state */
    int64_t retry_ms;        /* no call for it before, wall */
    uint64_t batch;          /* of the journal, that its last change is in */
    uint64_t held_tick;     /* the remembered plan that knows it, and as what */
    uint64_t bought_for[4]; /* plain digests of shapes; 0: none */
    uint64_t placed_hash;   /* of what `previous` says; 0: not compared yet */
    uint32_t held_node;
    bool indexed;        /* it is in by_cloud as what it is now */
    struct texts *texts; /* its fleet's; NULL: it is in none */
};

/* All texts of a record without a fleet, as it begins. */
#define MACHINE_TEXTS \
    .request_id = "", .provider = "", .type = "", .zone = "", .cloud_id = "", \
    .address = "", .ray_id = "", .config_hash = "", .detail = "", \
    .asked_by = "", .because = "", .previous = "", .host_group = "", \
    .cloud_holds = ""

/* Sets one of its texts, as much of it as there is room for; false: it was the same
 * before.  MACHINE_SET_LONG(): one that has no bound. */
#define MACHINE_SET(m, field, text) \
    machine_text((m), &(m)->field, MACHINE_ROOM(field), (text))
#define MACHINE_SET_LONG(m, field, text) \
    machine_text((m), &(m)->field, SIZE_MAX, (text))
bool machine_text(struct machine *m, const char **at, size_t room,
                  const char *text);
/* Drops all of them; for a record that becomes no machine. */
void machine_texts_drop(struct machine *m);

/* A person wants it to end, as it is now. */
static inline bool machine_asked(const struct machine *m)
{
    return m->asked_to_end && !m->maybe.unasked;
}

/* It may be somebody else's: it counts, and is not ended. */
static inline bool machine_held(const struct machine *m)
{
    return m->adopted == ADOPTED_NEW_JOURNAL ||
           m->adopted == ADOPTED_OTHER_OWNER;
}

/* Another daemon launched it, which may drain and end it: this one does neither
 * before a person says so, whatever it sees of it. */
static inline bool machine_is_anothers(const struct machine *m)
{
    return m->adopted == ADOPTED_OTHER_OWNER;
}

/* Will it be gone soon, whatever anybody wants? */
static inline bool machine_leaves(const struct machine *m)
{
    return m->maybe.taken || m->maybe.leaving;
}

struct fleet {
    struct machine **v; /* in order of creation */
    uint32_t n, cap;
    uint64_t version; /* grows with every change */
    /* called before a change is visible to anybody else; may be NULL */
    void (*on_change)(void *arg, const struct machine *m,
                      enum machine_state from);
    void *arg;
    struct texts *texts;         /* of its machines */
    struct hash by_id, by_cloud; /* fleet.c's own */
};

void fleet_init(struct fleet *f);
void fleet_done(struct fleet *f);
/* A new record in the given state; the fleet owns it.  created/since = now. */
struct machine *fleet_add(struct fleet *f, const char *id,
                          enum machine_state state, int64_t now_ms);
void fleet_move(struct fleet *f, struct machine *m, enum machine_state to,
                int64_t now_ms);
void fleet_touch(struct fleet *f, struct machine *m); /* a field changed */
/* Sets the id that the provider gave it, and indexes it. */
void fleet_bind(struct fleet *f, struct machine *m, const char *cloud_id);
/* Finds what was written without fleet_bind(), as the journal does: before many are
 * looked for. */
void fleet_index(struct fleet *f);
struct machine *fleet_by_id(const struct fleet *f, const char *id);
/* A cloud may give an id again, so a machine is its id and the launch that it came
 * from: the one of that launch, or one of which either side does not know that,
 * the newest; NULL: what has that id is another machine. */
struct machine *fleet_by_launch(const struct fleet *f, const char *provider,
                                const char *cloud_id, const char *request_id);
/* Has another one, not gone, that id of the same provider? */
bool fleet_shares_id(const struct fleet *f, const struct machine *m);
/* Are both of one launch, as far as it is known? */
bool launch_is_same(const char *request_id, const char *other);
/* The offer it was launched from; the strings are the machine's. */
struct offer_key machine_offer(const struct machine *m);
/* Removes the GONE; returns how many. */
uint32_t fleet_sweep(struct fleet *f);

#endif
