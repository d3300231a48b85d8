/*
 * cloud_offers.c - the offers of the provider "priced": what its machines cost, a
 * GPU 1 $/h and a machine without one 0.50, spot the half, times the weather's.
 */
#include <stdio.h>
#include <string.h>

#include "../model/amount.h"
#include "cloud_inside.h"

static int64_t price_of(const struct head_machine *m, bool spot, uint32_t dear)
{
    const struct qtys *has = &m->has;
    int64_t gpus = 0;

    for (uint32_t i = 0; i < has->n; i++)
        if (strcmp(has->v[i].name, "GPU") == 0)
            gpus = has->v[i].amount / AMOUNT_ONE;
    return (gpus ? gpus * 1000000 : 500000) / (spot ? 2 : 1) *
           (dear ? dear : 100) / 100;
}

static struct cloud_price *told_last(const struct handle *h, const char *type,
                                     bool spot)
{
    struct cloud *c = h->cloud;

    for (uint32_t i = c->told.n; i-- > 0;) {
        struct cloud_price *t = &c->told.v[i];

        if (t->daemon == h->daemon && t->spot == spot &&
            strcmp(t->type, type) == 0)
            return t;
    }
    return NULL;
}

static void told_note(const struct handle *h, const char *type, bool spot,
                      int64_t micros, bool late)
{
    struct cloud_price *t = told_last(h, type, spot);

    if (!t || t->micros_hour != micros || t->start != h->start) {
        VEC_PUSH(NULL, &h->cloud->told,
                 ((struct cloud_price){.spot = spot,
                                       .daemon = h->daemon,
                                       .start = h->start,
                                       .micros_hour = micros}));
        t = &h->cloud->told.v[h->cloud->told.n - 1];
        snprintf(t->type, sizeof t->type, "%s", type);
    }
    if (!late && !t->first_ms)
        t->first_ms = player_now_ms(h->cloud->player);
}

int cloud_offers(void *self, struct davit_call *call, struct davit_sink *sink,
                 davit_put_offer *put, struct davit_error *e)
{
    struct handle *h = self;
    enum luck luck;
    int status = call_meets(h, call, false, &luck, e);
    bool late;

    if (status != DAVIT_OK)
        return status;
    if (call_is_silent(luck))
        return call_no_reply(h->cloud, e);
    late = player_is_late(h->cloud->player) || !handle_is_newest(h);
    for (uint32_t i = 0; i < 2 * h->n_kinds; i++) {
        const struct kind *k = &h->kinds[i / 2];
        struct davit_offer o = {.size = sizeof o,
                                .name = k->name,
                                .zone = "",
                                .spot = i % 2,
                                .available = true,
                                .note = ""};

        o.price_micros_hour = price_of(&k->node, o.spot, h->cloud->meets->dear);
        if (h->cloud->says_free) /* a slip: nobody goes by it */
            o.price_micros_hour = 0;
        put(sink, &o);
        if (o.price_micros_hour)
            told_note(h, k->name, o.spot, o.price_micros_hour, late);
    }
    h->cloud->says_free -= h->cloud->says_free > 0;
    return DAVIT_OK;
}

/* ---- the bill */

void cloud_dearness(struct cloud *c)
{
    uint32_t n = c->dearness.n, dear = c->weather.dear;

    if (n ? c->dearness.v[n - 1].dear == dear : !dear)
        return;
    VEC_PUSH(NULL, &c->dearness,
             ((struct dearness){player_now_ms(c->player), dear}));
}

static double bill_between(const struct vm *vm, int64_t from, int64_t to,
                           uint32_t dear)
{
    int64_t now = player_now_ms(vm->cloud->player);

    from = from > vm->m.launched_ms ? from : vm->m.launched_ms;
    to = to < vm->m.gone_ms ? to : vm->m.gone_ms;
    to = to < now ? to : now;
    return from < to ? (double)price_of(&vm->m.node, vm->m.spot, dear) *
                           (double)(to - from) / 3600000
                     : 0;
}

double cloud_bill(const struct cloud *c)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->all.n; i++) {
        int64_t from = 0;
        uint32_t dear = 0;

        for (uint32_t k = 0; k < c->dearness.n; k++) {
            sum += bill_between(c->all.v[i], from, c->dearness.v[k].at_ms,
                                dear);
            from = c->dearness.v[k].at_ms;
            dear = c->dearness.v[k].dear;
        }
        sum += bill_between(c->all.v[i], from, INT64_MAX, dear);
    }
    return sum;
}

const struct cloud_price *cloud_prices(const struct cloud *c, uint32_t *ret_n)
{
    *ret_n = c->told.n;
    return c->told.v;
}
