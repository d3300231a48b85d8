/*
 * commands.c - see commands.h.
 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "held/held.h"
#include "ours.h"

_Static_assert((int)MAIL_COMMAND == (int)COMMAND_MAIL, "the API posts it");

static const char *asker(const struct command *cmd)
{
    return cmd->by && *cmd->by ? cmd->by : "nobody known";
}

static void protect(struct env *env, struct machine *m,
                    const struct command *cmd)
{
    if (m->protected != cmd->on)
        emit(env, cmd->on ? "node.protected" : "node.unprotected", m->id, "",
             "by %s", asker(cmd));
    m->protected = cmd->on;
}

static void asked_by(struct machine *m, const struct command *cmd)
{
    MACHINE_SET_LONG(m, asked_by,
                     m->cordoned || m->asked_to_end ? asker(cmd) : "");
}

/* What nobody would carry out before a person has said something else is not
 * accepted. */
static enum status drain_refused(const struct machine *m, struct err *err)
{
    if (m->protected)
        return err_set(err, ST_INVALID,
                       "%s is protected: allow its end first (`davit "
                       "unprotect %s`)",
                       m->id, m->id);
    if (machine_held(m))
        return err_set(err, ST_INVALID, "%s is held%s", m->id,
                       ours_text(m->adopted));
    if (m->unread)
        return err_set(err, ST_INVALID,
                       "%s: the journal has a state of it that this version "
                       "does not know, so it is not ended: upgrade, or end it "
                       "in its cloud and say `davit forget %s`",
                       m->id, m->id);
    return ST_OK;
}

/* Taken back, what has begun of it goes back too, as far as it can. */
static void drain(struct env *env, struct ledger *l, struct machine *m,
                  struct command *cmd)
{
    if (cmd->on) {
        cmd->status = drain_refused(m, &cmd->err);
        if (cmd->status != ST_OK)
            return;
    }
    if (m->asked_to_end != cmd->on)
        emit(env, cmd->on ? "node.asked" : "node.unasked", m->id, "",
             cmd->on ? "to be drained and ended, by %s"
                     : "its end is not asked for any more, by %s",
             asker(cmd));
    m->asked_to_end = cmd->on;
    m->maybe.unasked = false;
    if (cmd->on)
        m->hold_until_ms = 0; /* a refused drain is asked again at once */
    else if (m->why == REASON_END_ASKED)
        machine_take_back(l, m);
    asked_by(m, cmd);
}

/* Back to use: its end is not asked for any more either. */
static void cordon(struct env *env, struct ledger *l, struct machine *m,
                   struct command *cmd)
{
    if (m->cordoned != cmd->on)
        emit(env, cmd->on ? "node.cordoned" : "node.uncordoned", m->id, "",
             "by %s", asker(cmd));
    m->cordoned = cmd->on;
    if (!cmd->on && m->asked_to_end)
        drain(env, l, m, cmd);
    asked_by(m, cmd);
}

/* What a user says of a machine. */
static void mark(struct env *env, struct ledger *l, struct command *cmd)
{
    struct machine *m = fleet_by_id(&l->fleet, cmd->machine);

    if (!m || m->state == STATE_GONE) {
        cmd->status = err_set(&cmd->err, ST_NOT_FOUND, "no node \"%s\"",
                              cmd->machine);
        return;
    }
    cmd->changed = true;
    cmd->mark = (struct command_mark){
        m->protected, m->cordoned, m->asked_to_end,
        *m->asked_by ? arena_strdup(&cmd->arena, m->asked_by) : "",
        m->hold_until_ms};
    if (cmd->kind == COMMAND_PROTECT)
        protect(env, m, cmd);
    else if (cmd->kind == COMMAND_CORDON)
        cordon(env, l, m, cmd);
    else
        drain(env, l, m, cmd);
    fleet_touch(&l->fleet, m);
}

static void unmark(struct env *env, struct ledger *l, const struct command *cmd)
{
    struct machine *m = fleet_by_id(&l->fleet, cmd->machine);

    if (!m || m->state == STATE_GONE)
        return;
    m->protected = cmd->mark.protected;
    m->cordoned = cmd->mark.cordoned;
    m->asked_to_end = cmd->mark.asked_to_end;
    m->hold_until_ms = cmd->mark.hold_until_ms;
    MACHINE_SET_LONG(m, asked_by, cmd->mark.asked_by);
    if (!m->asked_to_end && m->why == REASON_END_ASKED)
        machine_take_back(l, m);
    fleet_touch(&l->fleet, m);
    emit(env, "node.undone", m->id, "",
         "what %s asked for could not be written to the journal, and was "
         "refused: it is as before",
         asker(cmd));
}

static void append(struct commands *c, struct command *cmd)
{
    struct mail **last = (struct mail **)&c->waiting;

    while (*last)
        last = &(*last)->next;
    cmd->mail.next = NULL;
    *last = &cmd->mail;
}

/* What nobody would act on is not promised. */
static void request(struct commands *c, struct command *cmd)
{
    if (ours_stands(c->ledger))
        cmd->status = err_set(&cmd->err, ST_RETRY,
                              "another daemon has a copy of this journal and "
                              "began earlier: ask that one, or stop it and say "
                              "`davit adopt` here");
    else
        requests_fold(c->requests, cmd);
}

void commands_fold(struct commands *c, struct mail *mail)
{
    struct command *cmd = (struct command *)mail;

    cmd->status = ST_OK;
    cmd->seen = NULL;
    cmd->changed = cmd->reads = cmd->another = false;
    cmd->before = NULL;
    cmd->batch = c->ledger->batch;
    c->env->caller = cmd->share;
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
    case COMMAND_REQUEST_DROP: request(c, cmd); break;
    case COMMAND_PROTECT:
    case COMMAND_CORDON:
    case COMMAND_DRAIN: mark(c->env, c->ledger, cmd); break;
    case COMMAND_RELOAD:
        emit(c->env, "config.asked", "", "", "a reload, by %s", asker(cmd));
        configuration_ask(c->conf);
        cmd->reads = true;
        break;
    case COMMAND_APPLY:
    case COMMAND_ADOPT:
    case COMMAND_FORGET:
    case COMMAND_RELEASE: held_command(c, cmd); break;
    }
    c->env->caller = NULL;
    append(c, cmd);
}

/* Is what it did being written?  Also what is not there any more may be on the
 * disk still. */
static bool is_written_now(const struct commands *c, const struct command *cmd)
{
    return c->ledger->committing && ledger_unsaved(c->ledger, cmd->batch) &&
           (cmd->status == ST_OK ||
            (cmd->status == ST_NOT_FOUND && !c->ledger->journal_ok));
}

/* What a standby must know of is promised when a standby would know it. */
static bool must_wait(const struct commands *c, const struct command *cmd)
{
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
    case COMMAND_REQUEST_DROP:
        return ledger_waits(c->ledger, "request", cmd->owner);
    case COMMAND_PROTECT:
    case COMMAND_CORDON:
    case COMMAND_DRAIN: return ledger_waits(c->ledger, "machine", cmd->machine);
    case COMMAND_RELOAD:
    case COMMAND_APPLY:
    case COMMAND_ADOPT:
    case COMMAND_FORGET:
    case COMMAND_RELEASE: break;
    }
    return false;
}

static bool is_undone(const struct command *cmd)
{
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
    case COMMAND_REQUEST_DROP:
    case COMMAND_PROTECT:
    case COMMAND_CORDON:
    case COMMAND_DRAIN: return true;
    case COMMAND_RELOAD:
    case COMMAND_APPLY:
    case COMMAND_ADOPT:
    case COMMAND_FORGET:
    case COMMAND_RELEASE: break;
    }
    return false;
}

/* What cannot be taken back is said to be in force. */
static enum status journal_refuses(const struct commands *c,
                                   const struct command *cmd, struct err *err)
{
    return err_set(err, ST_RETRY, "the journal cannot be written (%s): %s",
                   c->ledger->problem.text,
                   is_undone(cmd)
                       ? "nothing was promised, all is as before; try again"
                       : "it is in force and not written down: a restart may "
                         "undo it; try again");
}

static enum status outcome(const struct commands *c, struct command *cmd,
                           bool planned, struct err *err)
{
    cmd->another = cmd->reads && c->conf->another;
    if (cmd->reads && *c->conf->problem)
        return err_set(err, ST_INVALID, "%s", c->conf->problem);
    if (!c->ledger->journal_ok)
        return journal_refuses(c, cmd, err);
    if (must_wait(c, cmd))
        return err_set(err, ST_RETRY,
                       "the daemon ends before the next one can know of it: "
                       "try again");
    if (!planned)
        return err_set(err, ST_RETRY,
                       "kept, but what is known now cannot be planned for; the "
                       "log says why");
    return ST_OK;
}

static void waiting_reverse(struct commands *c)
{
    struct mail *cmd = (struct mail *)c->waiting, *next, *last = NULL;

    for (; cmd; cmd = next) {
        next = cmd->next;
        cmd->next = last;
        last = cmd;
    }
    c->waiting = (struct command *)last;
}

static void undo(struct commands *c, struct command *cmd)
{
    if (cmd->kind == COMMAND_REQUEST_PUT || cmd->kind == COMMAND_REQUEST_DROP)
        requests_undo(c->requests, cmd);
    else
        unmark(c->env, c->ledger, cmd);
    cmd->changed = false;
    c->env->news = true; /* a plan may have known of it */
}

/* The last one first: each puts back what it found. */
void commands_undo(struct commands *c)
{
    struct command *cmd;

    waiting_reverse(c);
    for (cmd = c->waiting; cmd; cmd = (struct command *)cmd->mail.next) {
        if (cmd->status != ST_OK || cmd->batch <= c->ledger->saved)
            continue;
        if (cmd->changed)
            undo(c, cmd);
        cmd->status = journal_refuses(c, cmd, &cmd->err);
    }
    waiting_reverse(c);
}

void commands_answer(struct commands *c, bool planned)
{
    struct command *cmd, *next;

    if (!c->ledger->journal_ok && !c->ledger->committing)
        commands_undo(c);
    cmd = c->waiting;
    c->waiting = NULL;
    for (; cmd; cmd = next) {
        next = (struct command *)cmd->mail.next;
        /* The next plan shows what is left to do, not what was done for it. */
        if (planned && !cmd->seen)
            cmd->seen = status_get(c->board);
        if (is_written_now(c, cmd) ||
            (cmd->status == ST_OK && !c->env->stopping && must_wait(c, cmd))) {
            append(c, cmd);
            continue;
        }
        /* What is not there any more may be on the disk still. */
        if (cmd->status == ST_OK ||
            (cmd->status == ST_NOT_FOUND && !c->ledger->journal_ok))
            cmd->status = outcome(c, cmd, planned, &cmd->err);
        if (cmd->status != ST_OK) {
            status_unref(cmd->seen);
            cmd->seen = NULL;
        }
        requests_done(cmd);
        cmd->done(cmd);
    }
}
