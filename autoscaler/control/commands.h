/*
 * commands.h - what other threads asked (command.h): taken in one step, answered
 * at its end, when their effect is on disk and in the plan.
 *
 * Changes requests, whether a machine is protected, ours or forgotten, what the
 * brake holds, and whether the configuration is to be read again.  Control
 * thread only.
 */
#ifndef CONTROL_COMMANDS_H
#define CONTROL_COMMANDS_H

#include "ends.h"
#include "providers/providers.h"
#include "requests.h"

struct commands {
    struct env *env;
    struct ledger *ledger;
    struct configuration *conf;
    struct requests *requests;
    struct status_board *board;
    struct providers *providers;
    struct ends *ends;
    struct sources *sources;
    struct command *waiting; /* the first; linked by mail.next */
};

void commands_fold(struct commands *c, struct mail *mail);
/* The batch that holds the effect of those that wait cannot be written: they are
 * refused, and all is as if nobody had asked.  Before others are folded. */
void commands_undo(struct commands *c);
/* planned: this step has a plan, and the board shows it. */
void commands_answer(struct commands *c, bool planned);

#endif
