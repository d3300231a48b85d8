/*
 * control_inside.h - what the control thread owns: one member for each step of
 * the loop.  For control.c, which runs them in order, and control_open.c, which
 * opens and closes them; no step may see the others through it.
 *
 * One thread, so no locks: workers and the API reach it through the inbox only.
 */
#ifndef CONTROL_INSIDE_H
#define CONTROL_INSIDE_H

#include "act.h"
#include "commands.h"
#include "control.h"
#include "figures/spending.h"
#include "look/certificate.h"
#include "observe.h"
#include "record.h"
#include "reload.h"
#include "report/displacing.h"
#include "report/history.h"
#include "report/kube_texts.h"
#include "report/unplaced.h"
#include "send.h"
#include "settled.h"

struct control {
    struct control_opts opts;
    struct arena opened;           /* what was found out at the start */
    const char *journal_elsewhere; /* "", or why it is not beside the file */
    struct env env;
    struct ledger ledger;
    struct configuration configuration;
    struct providers providers;
    struct sources sources;
    struct requests requests;
    struct commands commands;
    struct observe observe;
    struct previous previous;
    struct improvement improvement;
    struct settled settled;
    struct memory memory; /* of the planner, from one plan to the next */
    struct known known;   /* the members above, to be read */
    struct ends ends;
    struct reloading reloading;
    struct act act;
    struct send send;
    struct unplaced unplaced;
    struct displacing displacing;
    struct certificate certificate;
    struct kube_texts kube_texts;
    struct history history;
    struct decisions decisions;
    struct spending spending;
    struct status_board board;
    struct record *record;           /* NULL: plans are not recorded */
    uint64_t tick;                   /* plans so far */
    uint64_t planned_version;        /* of the fleet that the last one knew */
    bool planned;                    /* the last one could be made */
    struct mail *mails, **last_mail; /* taken from the inbox, not folded yet */
    bool folded;         /* in this step: another mail than the next */
    bool landed;         /* a commit has ended: what waited for it may leave */
    bool journal_failed; /* it could not be written, at the last look */
    bool told_to_stop;
    bool writes;         /* the journal is a file: a worker commits */
    bool unconfirmed;    /* some demand needs a second view */
    uint32_t fresh;      /* the views it was made on: sources_fresh_set() */
    int64_t plan_due_ms; /* mono: another one, news or not */
};

/* Answers are given to their steps; that to a commit comes first. */
void control_fold(struct control *c);
void control_commit_fold(struct control *c);

#endif
