/*
 * cloud.c - see cloud.h.
 */
#include "cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../cloud/cloud.h"
#include "../provider.h"

enum { ENDING_MS = 30000 };

struct cloud {
    struct player *player;
    uint32_t boot_least_ms, boot_most_ms;
    struct cloud_machine *machines;
    uint32_t n, room;
    char (*requests)[48]; /* every launch's, for ever */
    uint32_t n_requests, room_requests;
    uint32_t launched, calls;
};

static struct cloud *the_cloud; /* a plug-in's open() is told of none */

/* Those that are gone go. */
static struct cloud *cloud_now(void)
{
    struct cloud *c = the_cloud;
    int64_t now = player_now_ms(c->player);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < c->n; i++)
        if (c->machines[i].gone_ms > now)
            c->machines[kept++] = c->machines[i];
    c->n = kept;
    return c;
}

static int do_open(const struct davit_host *host,
                   const struct davit_setup *setup, void **ret_self,
                   struct davit_error *e)
{
    (void)host;
    (void)setup;
    (void)e;
    *ret_self = the_cloud;
    return DAVIT_OK;
}

static void do_close(void *self)
{
    (void)self;
}

static void put_machine(const struct cloud *c, const struct cloud_machine *m,
                        struct davit_sink *sink,
                        void (*put)(struct davit_sink *,
                                    const struct davit_machine *))
{
    int64_t now = player_now_ms(c->player);
    struct davit_machine out = {.size = sizeof out,
                                .id = m->id,
                                .request_id = m->request_id,
                                .offer = m->type,
                                .zone = m->zone,
                                .address = "",
                                .phase = m->gone_ms != INT64_MAX
                                             ? DAVIT_STOPPING
                                         : m->ready_ms <= now ? DAVIT_RUNNING
                                                              : DAVIT_STARTING};

    put(sink, &out);
}

static int do_list(void *self, struct davit_call *call, struct davit_sink *sink,
                   void (*put)(struct davit_sink *,
                               const struct davit_machine *),
                   struct davit_error *e)
{
    const struct cloud *c = cloud_now();

    (void)self;
    (void)call;
    (void)e;
    the_cloud->calls++;
    for (uint32_t i = 0; i < c->n; i++)
        put_machine(c, &c->machines[i], sink, put);
    return DAVIT_OK;
}

/* False: it was there before. */
static bool request_new(struct cloud *c, const char *id)
{
    for (uint32_t i = c->n_requests; i-- > 0;)
        if (strcmp(c->requests[i], id) == 0)
            return false;
    if (c->n_requests == c->room_requests) {
        c->room_requests = c->room_requests ? 2 * c->room_requests : 64;
        c->requests = mem_resize(c->requests, c->room_requests,
                                 sizeof *c->requests);
    }
    snprintf(c->requests[c->n_requests++], sizeof *c->requests, "%s", id);
    return true;
}

static void machine_new(struct cloud *c, const struct davit_launch *l)
{
    uint32_t boot = c->boot_least_ms +
                    player_chance(c->player,
                                  c->boot_most_ms - c->boot_least_ms + 1);
    struct cloud_machine *m;

    if (c->n == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        c->machines = mem_resize(c->machines, c->room, sizeof *m);
    }
    m = &c->machines[c->n++];
    *m = (struct cloud_machine){.ready_ms = player_now_ms(c->player) + boot,
                                .gone_ms = INT64_MAX};
    snprintf(m->id, sizeof m->id, "i-%06u", ++c->launched);
    snprintf(m->request_id, sizeof m->request_id, "%s", l->request_id);
    snprintf(m->type, sizeof m->type, "%s", l->offer);
    snprintf(m->zone, sizeof m->zone, "%s", l->zone);
}

static int do_launch(void *self, struct davit_call *call,
                     const struct davit_launch *l, struct davit_sink *sink,
                     void (*put)(struct davit_sink *,
                                 const struct davit_machine *),
                     struct davit_error *e)
{
    struct cloud *c = cloud_now();

    (void)self;
    (void)call;
    (void)e;
    c->calls++;
    if (request_new(c, l->request_id))
        for (uint32_t i = 0; i < l->count; i++)
            machine_new(c, l);
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->machines[i].request_id, l->request_id) == 0)
            put_machine(c, &c->machines[i], sink, put);
    return DAVIT_OK;
}

static int do_terminate(void *self, struct davit_call *call,
                        const char *const *ids, size_t n_ids,
                        struct davit_sink *sink,
                        void (*done)(struct davit_sink *, const char *id,
                                     int status),
                        struct davit_error *e)
{
    struct cloud *c = cloud_now();

    (void)self;
    (void)call;
    (void)e;
    c->calls++;
    for (size_t k = 0; k < n_ids; k++) {
        int status = DAVIT_NOT_FOUND;

        for (uint32_t i = 0; i < c->n; i++)
            if (strcmp(c->machines[i].id, ids[k]) == 0) {
                status = DAVIT_OK;
                if (c->machines[i].gone_ms == INT64_MAX)
                    c->machines[i].gone_ms = player_now_ms(c->player) +
                                             player_chance(c->player,
                                                           ENDING_MS);
            }
        done(sink, ids[k], status);
    }
    return DAVIT_OK;
}

static const struct davit_kv options[] = {{0}};
static const struct davit_provider table = {.size = sizeof table,
                                            .name = "played",
                                            .version = "1",
                                            .options = options,
                                            .open = do_open,
                                            .close = do_close,
                                            .list = do_list,
                                            .launch = do_launch,
                                            .terminate = do_terminate};

struct cloud *cloud_new(struct player *p, uint32_t boot_least_ms,
                        uint32_t boot_most_ms)
{
    struct cloud *c = MEM_NEW(struct cloud);

    c->player = p;
    c->boot_least_ms = boot_least_ms;
    c->boot_most_ms = boot_most_ms;
    the_cloud = c;
    plugin_builtin(&table);
    return c;
}

void cloud_free(struct cloud *c)
{
    the_cloud = NULL;
    free(c->machines);
    free(c->requests);
    free(c);
}

const struct cloud_machine *cloud_machines(struct cloud *c, uint32_t *ret_n)
{
    cloud_now();
    *ret_n = c->n;
    return c->machines;
}

uint32_t cloud_launched(const struct cloud *c)
{
    return c->launched;
}

uint32_t cloud_calls(const struct cloud *c)
{
    return c->calls;
}
