/*
 * daemon.h - the daemon, once it is known where its settings come from: what
 * `davit run` and the sidecar share.
 */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "../base/log.h"
#include "../control/control.h"

/* Runs until SIGTERM; takes conf over.  The exit code. */
int daemon_run(const struct control_opts *o, struct config *conf);
/* Log, and signals that are no reason to end. */
void daemon_prepare(enum log_level level, bool json);

#endif
