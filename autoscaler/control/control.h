/*
 * control.h - the daemon's one control thread, as main and the API see it.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "../config/config.h"
#include "command.h"
#include "event.h"
#include "ha.h"
#include "status.h"

struct control;

struct config_source;

struct control_opts {
    const char *config_path;
    struct config_source *source;    /* NULL: config_path is a file; else what is read
                               * in its place: see source.h.  Borrowed. */
    const char *record_dir;   /* NULL: plans are not recorded */
    const char *record_http_dir, *replay_http_dir;  /* NULL: clouds are asked */
    bool dry_run;             /* shadow mode: plans, but never acts */
    struct ha *ha;            /* NULL: alone; it leads, and outlives control */
};

/* Takes the configuration over.  Opens the journal and the providers; errors
 * go to *errors, one a line. */
enum status control_new(const struct control_opts *o, struct config *c,
                        struct control **ret, struct buf *errors);
/* Runs the loop until SIGTERM or SIGINT; never touches a machine on the way
 * out.  Call on the main thread. */
int control_run(struct control *c);
void control_free(struct control *c);

struct mailbox *control_mailbox(struct control *c);   /* for commands */
struct status_board *control_board(struct control *c);
struct event_ring *control_events(struct control *c);
struct metrics *control_metrics(struct control *c);

#endif
