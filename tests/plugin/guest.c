/*
 * guest.c - a well-behaved plug-in that asks the host for what "how" says and
 * reports what it got in its error text, as RETRY.
 */
#include "misfit.h"

static int guest_http(const struct misfit *m, struct davit_call *c,
                      struct davit_error *e)
{
    struct davit_kv h[] = {{"x-test", "one"}, {"x-two", "2"}};
    struct davit_http x = {.size = sizeof x,
                           .method = "POST",
                           .url = m->arg,
                           .headers = h,
                           .n_headers = 2,
                           .body = "ping",
                           .body_len = 4};
    if (strcmp(m->how, "http header") == 0)
        h[1].value = "2\r\nx-forged: 3";
    if (strcmp(m->how, "http size") == 0)
        x.size = 8;
    int s = DAVIT_OK;
    /* two of which the first is not needed beside the second, and one more */
    for (x.brief = strcmp(m->how, "http brief") == 0; x.brief && s == DAVIT_OK;
         x.brief = x.reply_status != 202)
        s = m->host->http(c, &x, e);
    if (s == DAVIT_OK)
        s = m->host->http(c, &x, e);
    if (s != DAVIT_OK)
        return s;
    snprintf(e->text, sizeof e->text, "%d %zu %s", x.reply_status, x.reply_len,
             x.reply_body);
    return DAVIT_RETRY;
}

static int guest_list(void *self, struct davit_call *c, struct davit_sink *s,
                      put_machine *put, struct davit_error *e)
{
    const struct misfit *m = self;
    (void)s, (void)put;
    if (strncmp(m->how, "http", 4) == 0)
        return guest_http(m, c, e);
    if (strcmp(m->how, "sleep") == 0) {
        uint32_t ms = (uint32_t)strtoul(m->arg, NULL, 10);
        bool slept = m->host->sleep(c, ms);
        snprintf(e->text, sizeof e->text, "%s %u", slept ? "slept" : "stop",
                 m->host->remaining_ms(c));
        return slept ? DAVIT_RETRY : DAVIT_CANCELLED;
    }
    if (strcmp(m->how, "log") == 0) {
        long n = strtol(m->arg, NULL, 10);
        m->host->log(-3, "first\nforged line\033[2J");
        for (long i = 0; i < n; i++)
            m->host->log(1, "again");
    }
    if (strcmp(m->how, "wall") == 0) {
        snprintf(e->text, sizeof e->text, "%lld",
                 (long long)m->host->wall_ms());
        return DAVIT_RETRY;
    }
    return DAVIT_OK;
}

static const struct davit_provider table = {.size = sizeof table,
                                            .name = "guest",
                                            .version = "1",
                                            .options = misfit_options,
                                            .open = misfit_open,
                                            .close = misfit_close,
                                            .list = guest_list,
                                            .launch = misfit_launch,
                                            .terminate = misfit_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
