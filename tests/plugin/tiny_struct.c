/*
 * tiny_struct.c - a plug-in built against a provider.h whose structs were
 * shorter: the table ends with terminate(), machines end with spot.
 */
#include <stddef.h>

#include "provider.h"

static int handle;

static int tiny_open(const struct davit_host *h, const struct davit_setup *s,
                     void **ret, struct davit_error *e)
{
    (void)h, (void)s, (void)e;
    *ret = &handle;
    return DAVIT_OK;
}

static void tiny_close(void *self)
{
    (void)self;
}

static int tiny_list(void *self, struct davit_call *c, struct davit_sink *sink,
                     void (*put)(struct davit_sink *,
                                 const struct davit_machine *),
                     struct davit_error *e)
{
    struct davit_machine m = {
        .size = offsetof(struct davit_machine, spot) + sizeof m.spot,
        .id = "tiny-1",
        .request_id = "r",
        .offer = "t4",
        .zone = "",
        .address = "",
        .phase = DAVIT_RUNNING,
        .failure = 99,
        .detail = (const char *)1 /* beyond size: must not be read */};
    (void)self, (void)c, (void)e;
    put(sink, &m);
    return DAVIT_OK;
}

static int tiny_launch(void *self, struct davit_call *c,
                       const struct davit_launch *l, struct davit_sink *sink,
                       void (*put)(struct davit_sink *,
                                   const struct davit_machine *),
                       struct davit_error *e)
{
    (void)self, (void)c, (void)l, (void)sink, (void)put, (void)e;
    return DAVIT_OK;
}

static int tiny_terminate(void *self, struct davit_call *c,
                          const char *const *ids, size_t n,
                          struct davit_sink *sink,
                          void (*done)(struct davit_sink *, const char *, int),
                          struct davit_error *e)
{
    (void)self, (void)c, (void)ids, (void)n, (void)sink, (void)done, (void)e;
    return DAVIT_OK;
}

static const struct davit_provider table = {
    .size = offsetof(struct davit_provider, terminate) + sizeof table.terminate,
    .name = "tiny_struct",
    .version = "0.1",
    .open = tiny_open,
    .close = tiny_close,
    .list = tiny_list,
    .launch = tiny_launch,
    .terminate = tiny_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
