/* liar.c - answers that cannot be true, one per value of "how". */
#include <pthread.h>

#include "misfit.h"

static const struct davit_machine honest = {.size = sizeof honest,
                                            .id = "m-1",
                                            .request_id = "r-1",
                                            .offer = "t4",
                                            .zone = "a",
                                            .address = "10.0.0.1",
                                            .phase = DAVIT_RUNNING};

struct stranger {
    struct davit_sink *sink;
    put_machine *put;
};

static void *from_thread(void *arg)
{
    struct stranger *s = arg;
    s->put(s->sink, &honest);
    return NULL;
}

static int liar_list(void *self, struct davit_call *c, struct davit_sink *s,
                     put_machine *put, struct davit_error *e)
{
    const struct misfit *m = self;
    struct davit_machine x = honest;
    static char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    (void)c;
    put(s, &x);
    if (strcmp(m->how, "null machine") == 0) {
        put(s, NULL);
        return DAVIT_OK;
    }
    if (strcmp(m->how, "thread") == 0) {
        struct stranger st = {s, put};
        pthread_t t;
        if (pthread_create(&t, NULL, from_thread, &st) == 0)
            pthread_join(t, NULL);
        return DAVIT_OK;
    }
    x.id = "m-2";
    if (strcmp(m->how, "null id") == 0)
        x.id = NULL;
    else if (strcmp(m->how, "empty id") == 0)
        x.id = "";
    else if (strcmp(m->how, "control id") == 0)
        x.id = "m-2\033[2J";
    else if (strcmp(m->how, "latin1 id") == 0)
        x.id = "m-\xe9";
    else if (strcmp(m->how, "long id") == 0)
        x.id = longer;
    else if (strcmp(m->how, "null offer") == 0)
        x.offer = NULL;
    else if (strcmp(m->how, "null zone") == 0)
        x.zone = NULL;
    else if (strcmp(m->how, "control zone") == 0)
        x.zone = "a\nb";
    else if (strcmp(m->how, "long zone") == 0)
        x.zone = longer;
    else if (strcmp(m->how, "phase") == 0)
        x.phase = 77;
    else if (strcmp(m->how, "size") == 0)
        x.size = 4;
    else if (strcmp(m->how, "twice") == 0)
        x.id = "m-1", x.zone = "b";
    else if (strcmp(m->how, "failure") == 0)
        x.phase = DAVIT_FAILED, x.failure = 4711,
        x.detail = "first\nsecond\033[2J\xff";
    else if (strcmp(m->how, "status") == 0)
        return 4711;
    else if (strcmp(m->how, "negative") == 0)
        return -1;
    else if (strcmp(m->how, "silent") == 0)
        return DAVIT_QUOTA;
    else if (strcmp(m->how, "unterminated") == 0) {
        memset(e->text, 'x', sizeof e->text);
        memset(e->code, '\n', sizeof e->code);
        e->retry_after_ms = UINT32_MAX;
        return DAVIT_THROTTLED;
    } else if (strcmp(m->how, "cancelled") == 0)
        return DAVIT_CANCELLED;
    else if (strcmp(m->how, "unsupported") == 0)
        return DAVIT_UNSUPPORTED;
    put(s, &x);
    return DAVIT_OK;
}

static int liar_launch(void *self, struct davit_call *c,
                       const struct davit_launch *l, struct davit_sink *s,
                       put_machine *put, struct davit_error *e)
{
    const struct misfit *m = self;
    uint32_t count = strcmp(m->how, "more") == 0 ? l->count + 1 : l->count;
    (void)c, (void)e;
    for (uint32_t i = 0; i < count; i++) {
        char id[16];
        struct davit_machine x = honest;
        snprintf(id, sizeof id, "m-%u", i);
        x.id = id;
        x.request_id = strcmp(m->how, "other request") == 0 ? "zzz" : "";
        x.offer = strcmp(m->how, "other type") == 0 ? "k80" : l->offer;
        put(s, &x);
    }
    return DAVIT_OK;
}

static int liar_terminate(void *self, struct davit_call *c,
                          const char *const *ids, size_t n,
                          struct davit_sink *s, put_done *done,
                          struct davit_error *e)
{
    const struct misfit *m = self;
    (void)c;
    if (strcmp(m->how, "stranger") == 0)
        done(s, "somebody-else", DAVIT_OK);
    else if (strcmp(m->how, "null done") == 0)
        done(s, NULL, DAVIT_OK);
    else if (strcmp(m->how, "done status") == 0)
        done(s, ids[0], -7);
    else if (strcmp(m->how, "half") == 0 && n > 0) {
        done(s, ids[0], DAVIT_NOT_FOUND);
        snprintf(e->text, sizeof e->text, "the rest failed");
        return DAVIT_RETRY;
    }
    return DAVIT_OK;
}

static int liar_offers(void *self, struct davit_call *c, struct davit_sink *s,
                       put_offer *put, struct davit_error *e)
{
    const struct misfit *m = self;
    static const struct davit_quota many[17], unnamed = {"", 1, 1},
                                              of_none = {"GPUs", 1, 0};
    static const struct davit_kv misspelt = {"gpu", "present:NO_SCHEDULE"};
    struct davit_offer o = {.size = sizeof o,
                            .name = "t4",
                            .zone = "a",
                            .price_micros_hour = 1000,
                            .available = true};
    (void)c, (void)e;
    put(s, &o);
    if (strcmp(m->how, "unsupported") == 0)
        return DAVIT_UNSUPPORTED;
    if (strcmp(m->how, "offer name") == 0)
        o.name = "nosuch";
    else if (strcmp(m->how, "offer null") == 0)
        o.name = NULL;
    else if (strcmp(m->how, "price") == 0)
        o.price_micros_hour = -5;
    else if (strcmp(m->how, "taint") == 0)
        o.taints = &misspelt, o.n_taints = 1;
    else if (strcmp(m->how, "quota name") == 0)
        o.quotas = &unnamed, o.n_quotas = 1;
    else if (strcmp(m->how, "quota each") == 0)
        o.quotas = &of_none, o.n_quotas = 1;
    else if (strcmp(m->how, "quotas") == 0)
        o.quotas = many, o.n_quotas = 17;
    put(s, &o);
    return DAVIT_OK;
}

static const struct davit_provider table = {.size = sizeof table,
                                            .name = "liar",
                                            .version = "1",
                                            .caps = DAVIT_CAP_OFFERS,
                                            .options = misfit_options,
                                            .open = misfit_open,
                                            .close = misfit_close,
                                            .list = liar_list,
                                            .launch = liar_launch,
                                            .terminate = liar_terminate,
                                            .offers = liar_offers};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
