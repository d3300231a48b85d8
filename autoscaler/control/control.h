/*
 * control.h - the daemon's one control thread, as main and the API see it.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "../config/config.h"
#include "command.h"
#include "event.h"
#include "ha/ha.h"
#include "outside.h"
#include "status.h"

struct control;
struct history;
struct decisions;

struct config_source;

struct control_opts {
    const char *config_path;
    struct config_source
        *source;            /* NULL: config_path is a file; else what is read
                               * in its place: see config_source.h.  Borrowed. */
    const char *record_dir; /* NULL: plans are not recorded */
    const char *record_http_dir, *replay_http_dir; /* NULL: clouds are asked */
    int64_t shadow_boot_ms; /* for daemon_run(): over 0: a shadow, whose
                             * machines boot for so long */
    struct shadow *shadow;  /* NULL: what is done is real.  Borrowed, and used
                             * for the first settings already */
    struct ha *ha;          /* NULL: alone; it leads, and outlives control */
    struct outside outside; /* played; {0}: real */
};

/* Takes the configuration over.  Opens the journal and the providers; errors
 * go to *errors, one a line. */
enum status control_new(const struct control_opts *o, struct config *c,
                        struct control **ret, struct buf *errors);
/* One step of the loop: whoever drives it calls it when the mono time has come
 * that the last one returned, and sooner when there is mail.  After
 * control_stop() it does nothing and returns INT64_MAX. */
int64_t control_step(struct control *c);
void control_stop(struct control *c);
/* The next step reads the settings again, not before settle_ms from now; the
 * driver sees to that step. */
void control_reload(struct control *c, int64_t settle_ms);
void control_unwatched(struct control *c); /* no change of the file is seen */
/* Never touches a machine. */
void control_free(struct control *c);

struct mailbox *control_mailbox(struct control *c); /* for commands */
struct status_board *control_board(struct control *c);
struct event_ring *control_events(struct control *c);
struct history *control_history(struct control *c); /* report/history.h */
struct decisions *control_decisions(struct control *c);
struct metrics *control_metrics(struct control *c);
struct shadow *control_shadow(struct control *c); /* or NULL */

#endif
