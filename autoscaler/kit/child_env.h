/*
 * child_env.h - which of the daemon's environment variables a child process gets.
 *
 * The daemon's environment holds credentials (cloud keys, tokens, proxies with
 * passwords); a child gets what programs need to run at all, and what the
 * configuration names.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_CHILD_ENV_H
#define KIT_CHILD_ENV_H

#include "options.h"

/* May "NAME=value" go to a child?  PATH, HOME, the language, the time zone,
 * where Python and libraries are, where CAs are; and what `more` has as a name,
 * or as the beginning of one: "AWS_*". */
bool kit_child_env_ok(const char *variable, const struct kit_list *more);

/* A setting pass_env: one name or a list of them, into a kit_list. */
int kit_pass_env_read(struct kit_reading *r, struct kit_list *into,
                      const char *rest, const char *value);

#endif
