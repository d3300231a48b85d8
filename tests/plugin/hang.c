/*
 * hang.c - list() sleeps for "arg" milliseconds whatever its deadline says, and
 * uses its sink afterwards, when the daemon has long given up on it.
 */
#include <time.h>

#include "misfit.h"

static int hang_list(void *self, struct davit_call *c, struct davit_sink *s,
                     put_machine *put, struct davit_error *e)
{
    const struct misfit *m = self;
    long ms = strtol(m->arg, NULL, 10);
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)e;
    nanosleep(&t, NULL);
    struct davit_machine late = {.size = sizeof late,
                                 .id = "late-1",
                                 .request_id = "",
                                 .offer = "t4",
                                 .zone = "",
                                 .address = "",
                                 .phase = DAVIT_RUNNING};
    put(s, &late);
    return m->host->remaining_ms(c) == 0 ? DAVIT_CANCELLED : DAVIT_OK;
}

static const struct davit_provider table = {.size = sizeof table,
                                            .name = "hang",
                                            .version = "1",
                                            .options = misfit_options,
                                            .open = misfit_open,
                                            .close = misfit_close,
                                            .list = hang_list,
                                            .launch = misfit_launch,
                                            .terminate = misfit_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
