/*
 * cloud_calls.c - the provider "played", as daemons call it.
 *
 * A call meets the weather first: it may not come in, come in late or twice, or
 * come in while its answer does not go out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/digest.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "../provider.h"
#include "cloud_inside.h"

/* An answer may take as long as daemons wait for one. */
enum { LATE_MS = 60000, ANSWER_MS = 130000, END_COMES_MS = 11 * 60000 };

/* ---- open */

static struct qtys has_of(struct arena *a, const struct davit_node_type *t)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, t->n_resources);

    for (size_t i = 0; i < t->n_resources; i++) {
        v[i].name = arena_strdup(a, t->resources[i].key);
        if (!amount_parse(t->resources[i].value, &v[i].amount))
            v[i].amount = 0;
    }
    return (struct qtys){v, (uint32_t)t->n_resources};
}

static struct kind kind_of(struct arena *a, const struct davit_node_type *t)
{
    struct kind k = {.name = arena_strdup(a, t->name)};

    k.node.type = k.name;
    k.node.accel = "";
    k.node.has = has_of(a, t);
    for (size_t i = 0; i < t->n_labels; i++)
        if (strcmp(t->labels[i].key, ACCEL_LABEL) == 0)
            k.node.accel = arena_strdup(a, t->labels[i].value);
    return k;
}

static int do_open(const struct davit_host *host,
                   const struct davit_setup *setup, void **ret_self,
                   struct davit_error *e)
{
    const char *name = "";
    struct handle *h;

    for (size_t i = 0; i < setup->n_options; i++)
        if (strcmp(setup->options[i].key, "cloud") == 0)
            name = setup->options[i].value;
    if (!cloud_named(name)) {
        snprintf(e->code, sizeof e->code, "cloud");
        snprintf(e->text, sizeof e->text, "there is no played cloud \"%s\"",
                 name);
        return DAVIT_INVALID;
    }
    h = MEM_NEW(struct handle);
    h->cloud = cloud_named(name);
    h->host = host;
    h->daemon = player_who(h->cloud->player);
    h->start = player_starts(h->cloud->player);
    snprintf(h->cluster, sizeof h->cluster, "%s", setup->cluster);
    h->kinds = ARENA_ARRAY(&h->cloud->arena, struct kind, setup->n_types);
    for (size_t i = 0; i < setup->n_types; i++)
        h->kinds[h->n_kinds++] = kind_of(&h->cloud->arena, setup->types[i]);
    h->before = h->cloud->handles;
    h->cloud->handles = h;
    *ret_self = h;
    return DAVIT_OK;
}

static void do_close(void *self)
{
    struct handle *h = self, **at = &h->cloud->handles;
    const struct cloud_opts *o = &h->cloud->opts;

    while (*at != h)
        at = &(*at)->before;
    *at = h->before;
    free(h);
    if (o->closes)
        o->closes(o->arg);
}

/* ---- weather */

static int call_fails(struct cloud *c, struct davit_error *e, int status,
                      const char *text)
{
    c->faults++;
    snprintf(e->text, sizeof e->text, "%s", text);
    return status;
}

bool call_is_silent(enum luck luck)
{
    return luck == LUCK_UNSEEN || luck == LUCK_NO_REPLY || luck == LUCK_LATE;
}

/* Most connections are reset soon, others run into the call's time limit. */
static int64_t silence_draw(const struct handle *h,
                            const struct davit_call *call)
{
    struct player *p = h->cloud->player;

    if (player_chance(p, 5))
        return 1 + player_chance(p, 2000);
    return h->host->remaining_ms(call);
}

/* The weather of this call: its own, or that of the day. */
static const struct cloud_weather *cloud_meets(struct cloud *c)
{
    c->meets = ++c->calls == c->spoil_at ? &c->spoil : &c->weather;
    return c->meets;
}

int call_meets(struct handle *h, struct davit_call *call, bool changes,
               enum luck *luck, struct davit_error *e)
{
    struct cloud *c = h->cloud;
    const struct cloud_weather *w = cloud_meets(c);
    uint32_t dice = player_chance(c->player, 1000);

    c->changes += changes;
    *luck = LUCK_GOOD;
    if (w->hangs && player_chance(c->player, 1000) < w->hangs) {
        c->faults++;
        player_takes(c->player, w->hang_ms);
    }
    if (w->down)
        return call_fails(c, e, DAVIT_RETRY, "connection refused");
    if (w->auth)
        return call_fails(c, e, DAVIT_AUTH, "the token is not valid");
    if (w->broken)
        return call_fails(c, e, DAVIT_BROKEN, "an answer that makes no sense");
    if (dice < w->throttled) {
        e->retry_after_ms = player_chance(c->player, 2) * 1000 *
                            player_chance(c->player, 30);
        return call_fails(c, e, DAVIT_THROTTLED, "too many requests");
    }
    dice -= w->throttled;
    if (dice < w->lost_request) {
        *luck = LUCK_UNSEEN;
    } else if ((dice -= w->lost_request) < w->lost_reply) {
        *luck = LUCK_NO_REPLY;
    } else if ((dice -= w->lost_reply) < w->late_effect) {
        *luck = LUCK_LATE;
    } else if ((dice -= w->late_effect) < w->doubled) {
        *luck = LUCK_TWICE;
        c->faults++;
    }
    if (call_is_silent(*luck) && !player_is_late(c->player))
        player_takes(c->player, silence_draw(h, call));
    return DAVIT_OK;
}

int call_no_reply(struct cloud *c, struct davit_error *e)
{
    return call_fails(c, e, DAVIT_RETRY, "the connection was reset");
}

/* ---- launch */

static struct request *request_find(const struct cloud *c, const char *id)
{
    struct request *r;

    for (uint32_t at = 0;
         (r = hash_next(&c->by_request, hash_text(HASH_SEED, id), &at));)
        if (strcmp(r->id, id) == 0)
            return r;
    return NULL;
}

static struct request *request_new(struct cloud *c, const char *id)
{
    struct request *r = MEM_NEW(struct request);

    snprintf(r->id, sizeof r->id, "%s", id);
    VEC_PUSH(NULL, &c->requests, r);
    hash_add(&c->by_request, hash_text(HASH_SEED, r->id), r);
    return r;
}

static const struct kind *kind_find(const struct handle *h, const char *type)
{
    for (uint32_t i = 0; i < h->n_kinds; i++)
        if (strcmp(h->kinds[i].name, type) == 0)
            return &h->kinds[i];
    return NULL;
}

/* What was asked, for a request that comes in later. */
struct asked {
    struct asked *next; /* of those that are late */
    struct cloud *cloud;
    struct arena arena;
    struct order order;
    uint32_t count;
    int64_t at_ms;    /* it was asked */
    const char **ids; /* of an end */
    size_t n_ids;
};

static bool sold_out(const struct cloud *c, const struct order *o)
{
    uint64_t h = digest_text(digest_text(DIGEST_SEED, o->type), o->zone);

    return c->meets->stockout >> (digest_number(h, o->spot) >> 11) % 32 & 1;
}

static uint32_t alive(const struct cloud *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->there.n; i++)
        n += c->there.v[i]->gone_ms == INT64_MAX;
    return n;
}

/* The cloud makes what was asked, if it was not asked before. */
static int launch_comes(struct asked *a, struct davit_error *e)
{
    struct cloud *c = a->cloud;
    const struct cloud_weather *w = c->meets;
    struct request *r = request_find(c, a->order.request_id);
    uint32_t n = a->count;

    if (c->watch.asked)
        c->watch.asked(c->watch.arg, c, a->order.request_id, a->count, r);
    if (r)
        return DAVIT_OK;
    if (w->invalid)
        return call_fails(c, e, DAVIT_INVALID, "there is no such machine");
    if (w->lacks)
        return call_fails(c, e, DAVIT_NOT_FOUND, "no such accelerator here");
    if (sold_out(c, &a->order))
        return call_fails(c, e, DAVIT_STOCKOUT, "no capacity");
    if (w->quota && alive(c) + n > w->quota)
        return call_fails(c, e, DAVIT_QUOTA, "the quota is used up");
    if (n > 1 && w->partial && player_chance(c->player, 1000) < w->partial)
        n = 1 + player_chance(c->player, n - 1);
    r = request_new(c, a->order.request_id);
    for (uint32_t i = 0; i < n; i++) {
        struct vm *vm = vm_new(c, &a->order);

        vm->next = r->machines;
        r->machines = vm;
    }
    return n == a->count
               ? DAVIT_OK
               : call_fails(c, e, DAVIT_STOCKOUT, "no capacity for all");
}

void asked_free(struct asked *a)
{
    struct asked **at = &a->cloud->late;

    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
    arena_done(&a->arena);
    free(a);
}

static void asked_later(struct asked *a, uint32_t most_ms,
                        void (*comes)(void *arg))
{
    struct cloud *c = a->cloud;

    a->at_ms = player_now_ms(c->player);
    a->next = c->late;
    c->late = a;
    player_after(c->player, 1 + player_chance(c->player, most_ms), comes, a);
}

static void launch_comes_late(void *arg)
{
    struct davit_error e = {.size = sizeof e};

    launch_comes(arg, &e);
    asked_free(arg);
}

/* A no that was heard is the last word on its request: whoever doubles a request
 * (a proxy, a client) passes on the answer of the last one, and a cloud that
 * knows ids again says no again.  That "no" may mean "later, yes" is what no
 * client could work with: it buys elsewhere at once. */
static bool refused(int status)
{
    return status != DAVIT_OK;
}

static struct asked *launch_asked(const struct handle *h,
                                  const struct davit_launch *l)
{
    const struct kind *k = kind_find(h, l->offer);
    struct asked *a = MEM_NEW(struct asked);

    a->cloud = h->cloud;
    a->count = l->count;
    a->order = (struct order){
        .request_id = arena_strdup(&a->arena, l->request_id),
        .type = arena_strdup(&a->arena, l->offer),
        .zone = arena_strdup(&a->arena, l->zone),
        .cluster = arena_strdup(&a->arena, h->cluster),
        .owner = arena_strdup(&a->arena, h->owner),
        .spot = l->spot,
        .daemon = h->daemon,
        .node = k ? k->node : (struct head_machine){.type = "", .accel = ""}};
    return a;
}

static int do_launch(void *self, struct davit_call *call,
                     const struct davit_launch *l, struct davit_sink *sink,
                     davit_put_machine *put, struct davit_error *e)
{
    struct handle *h = self;
    struct cloud *c = h->cloud;
    enum luck luck;
    int status;
    struct asked *a;
    struct request *r;
    char first_id[48];

    if (c->watch.sent)
        c->watch.sent(c->watch.arg, c, l->request_id, l->offer, l->count);
    status = call_meets(h, call, true, &luck, e);
    if (status != DAVIT_OK)
        return status;
    if (c->meets->auth_launches)
        return call_fails(c, e, DAVIT_AUTH, "no right to launch machines");
    if (luck == LUCK_UNSEEN || c->meets->deaf_launches)
        return call_no_reply(c, e);
    a = launch_asked(h, l);
    if (luck == LUCK_GOOD && c->meets->made_late_ms) {
        c->faults++;
        asked_later(a, c->meets->made_late_ms, launch_comes_late);
        return DAVIT_OK;
    }
    if (luck != LUCK_LATE)
        status = launch_comes(a, e);
    if (luck == LUCK_LATE || (luck == LUCK_TWICE && !refused(status)))
        asked_later(a, LATE_MS, launch_comes_late);
    else
        asked_free(a);
    if (call_is_silent(luck) || c->meets->mute_launches)
        return call_no_reply(c, e);
    r = request_find(c, l->request_id);
    /* With an error comes all that exists: provider.h. */
    for (struct vm *vm =
             r && (!c->meets->async || status != DAVIT_OK) ? r->machines : NULL;
         vm; vm = vm->next) {
        if (vm->m.gone_ms <= player_now_ms(c->player))
            continue;
        vm->m.told_ms = player_now_ms(c->player);
        snprintf(first_id, sizeof first_id, "first-%s", vm->m.id);
        cloud_put_machine(c, &vm->m, c->meets->other_ids ? first_id : vm->m.id,
                          -1, sink, put);
    }
    return status;
}

/* ---- terminate */

static int end_comes(struct cloud *c, const char *id, int64_t called_ms)
{
    struct cloud_machine *m = cloud_machine(c, id);

    if (!m || m->gone_ms <= player_now_ms(c->player))
        return DAVIT_NOT_FOUND;
    if (m->launched_ms > called_ms)
        return DAVIT_NOT_FOUND; /* its id was another's then */
    m->end_called_ms = called_ms;
    vm_end((struct vm *)m);
    return DAVIT_OK;
}

/* Who asked for its end hears that it was accepted. */
static void end_told(struct cloud *c, const char *id)
{
    struct cloud_machine *m = cloud_machine(c, id);

    if (m && !m->end_known_ms)
        m->end_known_ms = player_now_ms(c->player);
}

static void ends_come_late(void *arg)
{
    struct asked *a = arg;

    for (size_t i = 0; i < a->n_ids; i++)
        end_comes(a->cloud, a->ids[i], a->at_ms);
    asked_free(a);
}

static void ends_later(struct cloud *c, const char *const *ids, size_t n)
{
    struct asked *a = MEM_NEW(struct asked);

    a->cloud = c;
    a->n_ids = n;
    a->ids = ARENA_ARRAY(&a->arena, const char *, n);
    for (size_t i = 0; i < n; i++)
        a->ids[i] = arena_strdup(&a->arena, ids[i]);
    asked_later(a, LATE_MS, ends_come_late);
}

static int terminate(void *self, struct davit_call *call,
                     const char *const *ids, size_t n_ids,
                     struct davit_sink *sink, davit_put_done *done,
                     struct davit_error *e)
{
    struct handle *h = self;
    struct cloud *c = h->cloud;
    enum luck luck;
    int status = call_meets(h, call, true, &luck, e);

    if (status != DAVIT_OK)
        return status;
    if (c->meets->auth_ends)
        return call_fails(c, e, DAVIT_AUTH, "no right to end machines");
    if (player_chance(c->player, 1000) < c->meets->end_hangs) {
        player_takes(c->player, c->meets->hang_ms);
        return call_no_reply(c, e);
    }
    if (c->meets->invalid_ends)
        return call_fails(c, e, DAVIT_INVALID, "below the group's least size");
    if (luck == LUCK_UNSEEN)
        return call_no_reply(c, e);
    if (luck == LUCK_LATE || luck == LUCK_TWICE)
        ends_later(c, ids, n_ids);
    for (size_t k = 0; luck != LUCK_LATE && k < n_ids; k++) {
        int s = end_comes(c, ids[k], player_now_ms(c->player));

        if (call_is_silent(luck))
            continue;
        done(sink, ids[k], s);
        end_told(c, ids[k]);
    }
    return call_is_silent(luck) ? call_no_reply(c, e) : DAVIT_OK;
}

/* For so long nobody can count on a machine: until the answer, and when that
 * says nothing, for as long as an end may still come. */
static int64_t unsure_ms(const struct cloud *c, int status)
{
    bool refused = status == DAVIT_AUTH || status == DAVIT_INVALID ||
                   status == DAVIT_THROTTLED;
    bool hangs = c->meets->hangs || c->meets->end_hangs;

    return (refused ? ANSWER_MS : END_COMES_MS) +
           (hangs ? c->meets->hang_ms : 0);
}

static void end_tried(const struct cloud *c, struct cloud_machine *m,
                      uint32_t daemon)
{
    m->end_askers |= UINT32_C(1) << daemon;
    if (m->end_tried_ms < player_now_ms(c->player))
        m->end_tried_ms = player_now_ms(c->player);
}

static int do_terminate(void *self, struct davit_call *call,
                        const char *const *ids, size_t n_ids,
                        struct davit_sink *sink, davit_put_done *done,
                        struct davit_error *e)
{
    struct handle *h = self;
    struct cloud *c = h->cloud;
    int64_t until;
    int status;

    for (size_t i = 0; i < n_ids; i++)
        if (cloud_machine(c, ids[i]))
            end_tried(c, cloud_machine(c, ids[i]), h->daemon);
    status = terminate(h, call, ids, n_ids, sink, done, e);
    until = player_now_ms(c->player) + unsure_ms(c, status);

    for (size_t i = 0; i < n_ids; i++) {
        struct cloud_machine *m = cloud_machine(c, ids[i]);

        if (m && m->end_unsure_ms < until)
            m->end_unsure_ms = until;
    }
    return status;
}

static uint32_t do_settle_ms(void *self)
{
    (void)self;
    return LIST_LAG_MOST_MS + 1000;
}

const struct davit_provider *cloud_provider(void)
{
    static const struct davit_kv options[] = {
        {"cloud", "which of the played clouds"}, {0}};
    static const char *const places[] = {"cloud", NULL};
    static const struct davit_provider table = {.size = sizeof table,
                                                .name = "played",
                                                .version = "1",
                                                .caps = DAVIT_CAP_SPOT,
                                                .options = options,
                                                .open = do_open,
                                                .close = do_close,
                                                .list = cloud_list,
                                                .launch = do_launch,
                                                .terminate = do_terminate,
                                                .settle_ms = do_settle_ms,
                                                .find = cloud_find,
                                                .places = places};
    return &table;
}

const struct davit_provider *cloud_provider_priced(void)
{
    static struct davit_provider table;

    table = *cloud_provider();
    table.name = "priced";
    table.caps |= DAVIT_CAP_OFFERS;
    table.offers = cloud_offers;
    return &table;
}
