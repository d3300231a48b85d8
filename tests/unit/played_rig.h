/*
 * played_rig.h - what the tests of the whole loop in played time share: times,
 * the file that the daemon reads, a daemon's start.
 */
#ifndef PLAYED_RIG_H
#define PLAYED_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../played/disk.h"
#include "control/control.h"
#include "played/player.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
#define BEGIN_MS INT64_C(1790000000000)

/* The daemon's file: each test says what is in it. */
static const char *settings;

static enum status settings_read(void *arg, const char *path,
                                 struct config **ret, struct buf *errors)
{
    (void)arg;
    return config_parse(path, settings, strlen(settings), ret, errors);
}

/* A daemon on the disk "played"; o says what it lives on. */
static struct control *daemon_new(struct outside o)
{
    struct control_opts opts = {.config_path = "played.yaml", .outside = o};
    struct control *control = NULL;
    struct config *conf;
    struct buf errors;

    opts.outside.vfs = "played";
    if (!opts.outside.config)
        opts.outside.config = settings_read;
    buf_init(&errors, 65536);
    if (settings_read(NULL, "played.yaml", &conf, &errors) != ST_OK ||
        control_new(&opts, conf, &control, &errors) != ST_OK)
        fail_msg("%s", errors.s);
    buf_done(&errors);
    return control;
}

#endif
