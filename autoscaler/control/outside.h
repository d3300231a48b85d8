/*
 * outside.h - what the loop takes from outside, and who may play it.
 *
 * A simulation runs the real loop on one thread, in its own time: it fills in
 * what is here, and installs what more than the loop uses: the time
 * (base/clock.h), random ids (base/random.h), providers (plugin_builtin(),
 * cloud/cloud.h).  It posts requests to control_mailbox(), calls control_step()
 * when that said so or something lies there, and control_reload() when it has
 * changed the settings.  The daemon does the same with libuv: cli/loop.c.
 */
#ifndef CONTROL_OUTSIDE_H
#define CONTROL_OUTSIDE_H

#include "../base/worker.h"
#include "../config/config.h"
#include "../wire/source.h"

enum { SOURCES = 2 };

/* A demand source with its handles: they are the loop's to free. */
struct source_opened {
    const struct source_ops *ops;
    const char *address;                    /* for people; copied */
    void *reader, *writers[SOURCE_WRITERS]; /* as many as ops says */
};

/* NULL: the real ones. */
struct outside {
    void *arg; /* given to each */
    /* Like workers_new(): for the providers, and for each source. */
    struct workers *(*workers)(void *arg, unsigned n_threads,
                               unsigned max_stuck, struct mailbox *answers);
    bool pages_unread; /* nobody reads them: nothing is done for their sake */
    const char *vfs;   /* the journal's file system: store/journal.h */
    bool in_memory;    /* the journal is no file: it ends with the process */
    /* The longest time without a step or a plan when nothing is due; 0: as the
     * daemon does, 5 s and 60 s. */
    int64_t pause_ms;
    /* Like config_load(): at each reload. */
    enum status (*config)(void *arg, const char *path, struct config **ret,
                          struct buf *errors);
    /* The sources that the configuration names, at most SOURCES. */
    enum status (*sources)(void *arg, const struct config *c,
                           struct source_opened *ret, uint32_t *ret_n,
                           struct err *err);
};

#endif
