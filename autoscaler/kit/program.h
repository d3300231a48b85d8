/*
 * program.h - a credential helper of the user's: a program that prints
 * credentials, named by the vendor's own configuration files.
 */
#ifndef KIT_PROGRAM_H
#define KIT_PROGRAM_H

#include "options.h"

/* Runs the command, which is split into words as a shell does (quotes and
 * backslashes, nothing else), without a shell.  It gets no input; what it
 * prints to standard error is dropped, for it may be a secret.  Its environment
 * is that of kit_child_env_ok() with `pass`, and `also` ("NAME=value", NULL
 * ends, or NULL).  It is killed at limit_ms or when the call's time is over,
 * with all of its process group.  OK: *ret is what it printed, for kit_wipe();
 * else AUTH, or RETRY for lack of time, with a sentence that names `what`.
 * Thread: any. */
int kit_program_run(const struct davit_host *host, struct davit_call *call,
                    const char *what, const char *command,
                    const struct kit_list *pass, const char *const *also,
                    uint32_t limit_ms, char **ret, struct davit_error *e);

#endif
