/*
 * held.h - a person's word on what is held: a configuration, ends that are too many,
 * machines that may be another daemon's, records that nobody can tell of.
 *
 * Who says what he has seen (command_shown) lets go that and nothing else: what has
 * changed since makes it a refusal, and he looks again.  Without that it is about
 * whatever is held at the moment.  Changes machines, the brake, places, and what is
 * to be read.  Control thread only.
 */
#ifndef CONTROL_HELD_HELD_H
#define CONTROL_HELD_HELD_H

#include "../command.h"
#include "../commands.h"

/* COMMAND_APPLY, ADOPT, FORGET, RELEASE. */
void held_command(struct commands *c, struct command *cmd);

#endif
