/*
 * command.h - what other threads may ask of the control thread.
 *
 * The asker allocates, posts to the control's mailbox and waits for done(),
 * which runs on the control thread once the effect is on disk and the next
 * plan is made.  After done() the command is the asker's again.
 */
#ifndef CONTROL_COMMAND_H
#define CONTROL_COMMAND_H

#include "../base/arena.h"
#include "../base/mailbox.h"
#include "status.h"

enum command_kind {
    COMMAND_REQUEST_PUT,
    COMMAND_REQUEST_DROP,
    COMMAND_PROTECT, /* a machine is not ended, */
    COMMAND_CORDON,  /* gets nothing new, */
    COMMAND_DRAIN,   /* is drained and ended; on, or taken back */
    COMMAND_RELOAD,
    COMMAND_APPLY,  /* a held configuration, or a provider's new place */
    COMMAND_ADOPT,  /* held machines are ours; machine "" : all of them */
    COMMAND_FORGET, /* a machine leaves the ledger, and is left alone */
    COMMAND_RELEASE /* ends that are held go on, short lists are believed */
};

struct request;

/* What a person had said of a machine before this. */
struct command_mark {
    bool protected, cordoned, asked_to_end;
    const char *asked_by; /* "": nobody */
    int64_t hold_until_ms;
};

/* What a person has seen of what is held: his word is of that, and of no more. */
struct command_shown {
    const char *config;  /* digest of the file; "" here and below: none */
    const char *head;    /* its session */
    const char *journal; /* of the other daemon: its launch */
    struct names machines, providers;
};

enum { COMMAND_MAIL = 3 }; /* mail.kind; control's MAIL_COMMAND */

struct command {
    struct mail mail; /* first; kind COMMAND_MAIL */
    enum command_kind kind;
    struct arena arena;        /* owns the arguments; PUT: the control takes
                                * body and demand over, with what they lie in */
    const char *owner;         /* PUT, DROP */
    const char *body;          /* PUT: canonical JSON of the request */
    struct snap_demand demand; /* PUT: what body says */
    int64_t asked_ms;          /* PUT: wall, when it was asked for; 0: now */
    int64_t expires_ms;        /* PUT: wall, 0 never; counted from then */
    const char *machine; /* PROTECT, CORDON, DRAIN, ADOPT, FORGET: our id */
    bool on;             /* PROTECT, CORDON, DRAIN */
    const struct command_shown *shown; /* APPLY, ADOPT, RELEASE: in the arena;
                                        * NULL: whatever is held */
    const char *by; /* who asks, for events; "" or NULL: not known */
    /* PUT, DROP: may who asks change what stands in this queue ("": in none)?
     * NULL: he may.  On the control thread. */
    bool (*may_queue)(const struct command *c, const char *queue);
    const char
        *share; /* whose share of what may be asked for it takes, PUT, and of
                        * the events that are kept; NULL: nobody's */
    /* the control's, until it is answered: */
    uint64_t batch;           /* of the journal, that its effect is in */
    bool reads;               /* what becomes of the file is its answer */
    bool changed;             /* it took effect; how it was before: */
    struct request *before;   /* PUT, DROP; owned, NULL: nothing stood */
    struct command_mark mark; /* PROTECT, CORDON, DRAIN */
    /* answer */
    uint32_t count; /* ADOPT, FORGET, RELEASE: machines */
    bool another;   /* what is held is not what was shown: nothing was done */
    enum status status;
    struct err err;
    struct status_page *seen; /* the first status whose plan has taken it
                               * into account; a reference, NULL on error */
    void (*done)(struct command *);
    void *arg;
};

#endif
