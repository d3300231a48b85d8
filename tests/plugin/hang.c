/*
 * hang.c - list() hangs as long as the file "arg" is there, whatever its deadline
 * says, and adds a byte to it before; it uses its sink afterwards, when the
 * daemon has long given up on it.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "misfit.h"

static int hang_list(void *self, struct davit_call *c, struct davit_sink *s,
                     put_machine *put, struct davit_error *e)
{
    const struct misfit *m = self;
    int file = open(m->arg, O_WRONLY | O_APPEND);
    (void)e;
    if (file >= 0 && (write(file, "x", 1) != 1 || close(file) != 0))
        abort();
    for (int i = 0; i < 90000 && access(m->arg, F_OK) == 0; i++)
        /* wait: it hangs until the test lets it go */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
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
