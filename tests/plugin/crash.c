/* crash.c - dies inside list(): the daemon's last words must name it. */
#include <signal.h>

#include "misfit.h"

static int crash_list(void *self, struct davit_call *c, struct davit_sink *s,
                      put_machine *put, struct davit_error *e)
{
    (void)self, (void)c, (void)s, (void)put, (void)e;
    raise(SIGSEGV);
    return DAVIT_OK;
}

static const struct davit_provider table = {.size = sizeof table,
                                            .name = "crash",
                                            .version = "1",
                                            .options = misfit_options,
                                            .open = misfit_open,
                                            .close = misfit_close,
                                            .list = crash_list,
                                            .launch = misfit_launch,
                                            .terminate = misfit_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
