/*
 * sink.c - copies what a plug-in hands back, and judges it.
 *
 * Whatever a plug-in says ends up in the ledger, in JSON and on a terminal, and
 * money hangs on it; so nonsense is caught here, once: the first finding makes
 * the whole answer BROKEN with a text that says what to mend.  What
 * was good is kept: machines that exist must not be forgotten over it.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/text.h"
#include "../model/amount.h"
#include "inside.h"

/* What the ledger has room for: a cut id would end the wrong machine. */
#define ID_MAX 127
#define REQUEST_MAX 127
#define TYPE_MAX 63
#define ZONE_MAX 47
#define ADDRESS_MAX 63
#define MACHINES_MAX 200000
#define BYTES_MAX ((size_t)256 << 20)
#define DETAIL_MAX 300
#define PAIRS_MAX 256 /* taints, labels, resources of an offer */
#define VALUE_MAX 253
#define TAINT_KEY_MAX 317 /* Kubernetes': a domain, a slash, a name */
#define QUOTAS_MAX 16     /* of an offer */
#define QUOTA_MAX 127     /* a name's bytes */
#define UNIT_MAX 63
#define PRICE_MAX INT64_C(1000000000000) /* a million a hour */

bool plugin_text_ok(const char *s, size_t max)
{
    size_t n = 0, len, all = strnlen(s, max + 4);

    for (; s[n] != '\0'; n += len) {
        len = n < all ? text_char(s + n, all - n) : 0;
        if (len == 0 || n + len > max)
            return false;
    }
    return true;
}

void plugin_text_clean(const char *s, size_t n, char *ret, size_t size)
{
    size_t out = 0;

    n = strnlen(s, n);
    for (size_t i = 0, len; i < n; i += len) {
        size_t valid = text_char(s + i, n - i);

        len = valid ? valid : 1;
        if (out + len >= size)
            break;
        if (valid)
            memcpy(ret + out, s + i, valid);
        else
            ret[out] = s[i] == '\n' || s[i] == '\r' || s[i] == '\t' ? ' ' : '?';
        out += len;
    }
    ret[out] = '\0';
}

void sink_init(struct davit_sink *s, struct call *c)
{
    *s = (struct davit_sink){.call = c, .thread = pthread_self()};
}

/* Only the operation's own thread may touch the call's arena. */
static bool may_put(struct davit_sink *s)
{
    if (!pthread_equal(s->thread, pthread_self())) {
        atomic_store(&s->other_thread, true);
        return false;
    }
    return s->broken.status == ST_OK;
}

static const char *shown(struct davit_sink *s, const char *text)
{
    if (!text)
        return "NULL";
    char clean[80];
    plugin_text_clean(text, strnlen(text, sizeof clean), clean, sizeof clean);
    return arena_printf(&s->call->arena, "\"%s\"", clean);
}

static const char *copied(struct davit_sink *s, const char *what,
                          const char *text, size_t max)
{
    if (!text || !plugin_text_ok(text, max)) {
        err_set(&s->broken, ST_BROKEN,
                "put() a machine whose %s is %s: it must be %s%zu bytes of "
                "UTF-8 without control characters",
                what, shown(s, text),
                !text ? "\"\" when unknown, else up to " : "up to ", max);
        return "";
    }
    s->bytes += strlen(text) + 1;
    return arena_strdup(&s->call->arena, text);
}

/* A text for people, as far as it can be shown. */
static const char *sentence(struct davit_sink *s, const char *text)
{
    char clean[DETAIL_MAX] = "";
    if (text)
        plugin_text_clean(text, strnlen(text, DETAIL_MAX), clean, sizeof clean);
    s->bytes += strlen(clean) + 1;
    return arena_strdup(&s->call->arena, clean);
}

static bool machine_judge(struct davit_sink *s, const struct davit_machine *m,
                          struct call_machine *ret)
{
    struct call *c = s->call;
    if (!m->id || m->id[0] == '\0') {
        err_set(&s->broken, ST_BROKEN, "put() a machine without an id");
        return false;
    }
    ret->id = copied(s, "id", m->id, ID_MAX);
    if (s->broken.status != ST_OK)
        return false;
    ret->request_id = copied(s, "request_id", m->request_id, REQUEST_MAX);
    ret->type = copied(s, "offer", m->offer, TYPE_MAX);
    ret->zone = copied(s, "zone", m->zone, ZONE_MAX);
    ret->address = copied(s, "address", m->address, ADDRESS_MAX);
    if (m->phase > DAVIT_FAILED)
        err_set(&s->broken, ST_BROKEN,
                "put() machine %s in phase %u; there are 0 to %d", ret->id,
                m->phase, DAVIT_FAILED);
    /* From here on it is kept whatever else is wrong: it exists. */
    ret->phase = m->phase > DAVIT_FAILED ? DAVIT_STARTING
                                         : (enum davit_phase)m->phase;
    ret->spot = m->spot;
    ret->failure = ST_OK;
    if (ret->phase == DAVIT_FAILED)
        ret->failure = DAVIT_HAS(m, struct davit_machine, failure) &&
                               m->failure > 0 && m->failure < ST_COUNT
                           ? (enum status)m->failure
                           : ST_BROKEN;
    ret->detail = sentence(
        s, DAVIT_HAS(m, struct davit_machine, detail) ? m->detail : NULL);
    ret->held = sentence(
        s, DAVIT_HAS(m, struct davit_machine, held) ? m->held : NULL);
    ret->leaving = sentence(
        s, DAVIT_HAS(m, struct davit_machine, leaving) ? m->leaving : NULL);
    ret->leaves_ms = DAVIT_HAS(m, struct davit_machine, leaves_ms) &&
                             m->leaves_ms > 0
                         ? m->leaves_ms
                         : 0;
    ret->queued = DAVIT_HAS(m, struct davit_machine, queued) && m->queued &&
                  ret->phase == DAVIT_STARTING;
    s->bytes += sizeof *ret;
    ret->unit = DAVIT_HAS(m, struct davit_machine, unit) && m->unit
                    ? copied(s, "unit", m->unit, UNIT_MAX)
                    : "";
    if (c->op != CALL_LAUNCH || s->broken.status != ST_OK)
        return true;
    if (ret->request_id[0] == '\0')
        ret->request_id = c->request_id;
    if (ret->type[0] == '\0')
        ret->type = c->type;
    if (strcmp(ret->request_id, c->request_id) != 0)
        err_set(&s->broken, ST_BROKEN,
                "launch() for request %s put() machine %s of request %s",
                c->request_id, ret->id, ret->request_id);
    else if (strcmp(ret->type, c->type) != 0)
        err_set(&s->broken, ST_BROKEN,
                "launch() of %s put() machine %s of type %s", c->type, ret->id,
                ret->type);
    return true;
}

void sink_put_machine(struct davit_sink *s, const struct davit_machine *m)
{
    if (!may_put(s))
        return;
    if (!m || !DAVIT_HAS(m, struct davit_machine, spot)) {
        err_set(&s->broken, ST_BROKEN,
                "put() %s; set .size = sizeof(struct davit_machine)",
                !m ? "NULL" : "a machine whose size is too small");
        return;
    }
    if (s->call->machines.n >= MACHINES_MAX || s->bytes > BYTES_MAX) {
        err_set(&s->broken, ST_BROKEN, "put() more than %d machines or %zu MiB",
                MACHINES_MAX, BYTES_MAX >> 20);
        return;
    }
    struct call_machine copy = {0};
    if (machine_judge(s, m, &copy))
        VEC_PUSH(&s->call->arena, &s->call->machines, copy);
}

/* ---- what an offer's machines have */

/* "value:Effect", of Kubernetes' three effects. */
static bool taint_of(struct davit_sink *s, const struct davit_kv *t,
                     struct taint *ret)
{
    const char *colon = t->value ? strrchr(t->value, ':') : NULL;
    struct arena *a = &s->call->arena;
    if (!t->key || t->key[0] == '\0' || !colon ||
        !plugin_text_ok(t->key, TAINT_KEY_MAX) ||
        !plugin_text_ok(t->value, 63 + 20) ||
        !effect_from_name(colon + 1, &ret->effect) || ret->effect == EFFECT_ANY)
        return false;
    ret->key = arena_strdup(a, t->key);
    ret->value = arena_strndup(a, t->value, (size_t)(colon - t->value));
    return true;
}

static void taints_copy(struct davit_sink *s, const struct davit_offer *o,
                        struct call_offer *ret)
{
    if (!DAVIT_HAS(o, struct davit_offer, n_taints) || o->n_taints == 0)
        return;
    size_t most = o->n_taints < PAIRS_MAX ? o->n_taints : PAIRS_MAX;
    struct taint *v = ARENA_ARRAY(&s->call->arena, struct taint, most);
    uint32_t n = 0;
    for (size_t i = 0; i < o->n_taints && i <= PAIRS_MAX; i++) {
        if (i == PAIRS_MAX || !taint_of(s, &o->taints[i], &v[n])) {
            err_set(&s->broken, ST_BROKEN,
                    "put() an offer of %s with taint %s -> %s; up to %d of "
                    "\"key\" -> \"value:Effect\", effects as Kubernetes' "
                    "NoSchedule",
                    ret->type, shown(s, o->taints[i].key),
                    shown(s, o->taints[i].value), PAIRS_MAX);
            return;
        }
        n += !taint_of_start(v[n].key);
    }
    ret->taints = (struct taints){v, n};
}

static bool pairs_good(struct davit_sink *s, const char *what, const char *type,
                       const struct davit_kv *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (i == PAIRS_MAX || !v[i].key || !v[i].value || v[i].key[0] == '\0' ||
            !plugin_text_ok(v[i].key, TAINT_KEY_MAX) ||
            !plugin_text_ok(v[i].value, VALUE_MAX)) {
            err_set(&s->broken, ST_BROKEN,
                    "put() an offer of %s with %s %s -> %s; up to %d of them",
                    type, what, shown(s, v[i].key), shown(s, v[i].value),
                    PAIRS_MAX);
            return false;
        }
    return true;
}

static void has_copy(struct davit_sink *s, const struct davit_offer *o,
                     struct call_offer *ret)
{
    struct arena *a = &s->call->arena;
    if (!pairs_good(s, "resource", ret->type, o->resources, o->n_resources) ||
        !pairs_good(s, "label", ret->type, o->labels, o->n_labels))
        return;
    struct qty *q = ARENA_ARRAY(a, struct qty, o->n_resources);
    struct pair *p = ARENA_ARRAY(a, struct pair, o->n_labels);
    for (size_t i = 0; i < o->n_resources; i++) {
        struct qty *x = &q[ret->resources.n];
        x->name = arena_strdup(a, o->resources[i].key);
        if (!amount_parse(o->resources[i].value, &x->amount)) {
            err_set(&s->broken, ST_BROKEN,
                    "put() an offer of %s with %s %s; it must be a number such "
                    "as 4, 500m or 16Gi",
                    ret->type, x->name, shown(s, o->resources[i].value));
            return;
        }
        ret->resources.n++;
    }
    for (size_t i = 0; i < o->n_labels; i++)
        p[i] = (struct pair){arena_strdup(a, o->labels[i].key),
                             arena_strdup(a, o->labels[i].value)};
    ret->resources.v = q;
    ret->labels = (struct pairs){p, (uint32_t)o->n_labels};
}

static void quotas_copy(struct davit_sink *s, const struct davit_offer *o,
                        struct call_offer *ret)
{
    struct arena *a = &s->call->arena;
    bool has = DAVIT_HAS(o, struct davit_offer, n_quotas) && o->n_quotas > 0;
    size_t n = has && o->n_quotas <= QUOTAS_MAX ? o->n_quotas : 0;
    struct snap_quota *v = ARENA_ARRAY(a, struct snap_quota, n);
    bool good = !has || n > 0;
    for (size_t i = 0; i < n && good; i++) {
        const struct davit_quota *q = &o->quotas[i];
        good = q->name && q->name[0] != '\0' &&
               plugin_text_ok(q->name, QUOTA_MAX) && q->each > 0;
        if (good)
            v[i] = (struct snap_quota){arena_strdup(a, q->name), q->left,
                                       q->each};
    }
    if (!good)
        err_set(&s->broken, ST_BROKEN,
                "put() an offer of %s with %zu quotas; up to %d, each with a "
                "name of 1 to %d bytes of UTF-8 without control characters, "
                "and each > 0",
                ret->type, o->n_quotas, QUOTAS_MAX, QUOTA_MAX);
    else
        ret->quotas = (struct snap_quotas){v, (uint32_t)n};
}

void sink_put_offer(struct davit_sink *s, const struct davit_offer *o)
{
    struct call *c = s->call;
    if (!may_put(s))
        return;
    if (!o || !DAVIT_HAS(o, struct davit_offer, available)) {
        err_set(&s->broken, ST_BROKEN,
                "put() %s; set .size = sizeof(struct davit_offer)",
                !o ? "NULL" : "an offer whose size is too small");
        return;
    }
    const struct provider *p = c->provider;
    uint32_t t = 0;
    while (o->name && t < p->n_types && strcmp(p->types[t], o->name) != 0)
        t++;
    if (!o->name || t == p->n_types)
        err_set(&s->broken, ST_BROKEN,
                "put() an offer named %s, which is no node type of this "
                "provider",
                shown(s, o->name));
    else if (!o->zone || !plugin_text_ok(o->zone, ZONE_MAX))
        err_set(&s->broken, ST_BROKEN, "put() an offer of %s in zone %s",
                o->name, shown(s, o->zone));
    else if (o->price_micros_hour < -1 || o->price_micros_hour > PRICE_MAX)
        err_set(&s->broken, ST_BROKEN,
                "put() an offer of %s for %lld micro-dollars an hour; -1 means "
                "unknown",
                o->name, (long long)o->price_micros_hour);
    else if (c->offers.n >= MACHINES_MAX)
        err_set(&s->broken, ST_BROKEN, "put() more than %d offers",
                MACHINES_MAX);
    if (s->broken.status != ST_OK)
        return;
    struct call_offer copy = {
        .type = p->types[t],
        .zone = arena_strdup(&c->arena, o->zone),
        .price_micros_hour = o->price_micros_hour,
        .spot = o->spot,
        .available = o->available,
        .note = sentence(
            s, DAVIT_HAS(o, struct davit_offer, note) ? o->note : NULL),
        .most = DAVIT_HAS(o, struct davit_offer, most) && o->most > 0
                    ? o->most
                    : UNLIMITED};
    taints_copy(s, o, &copy);
    if (s->broken.status == ST_OK)
        quotas_copy(s, o, &copy);
    if (s->broken.status == ST_OK)
        has_copy(s, o, &copy);
    if (s->broken.status == ST_OK)
        VEC_PUSH(&c->arena, &c->offers, copy);
}

static const char *op_of(const struct call *c)
{
    return c->op == CALL_FIND ? "find" : "terminate";
}

void sink_put_done(struct davit_sink *s, const char *id, int status)
{
    struct call *c = s->call;
    if (!may_put(s))
        return;
    bool asked = false;
    bool known = status >= 0 && status < ST_COUNT;
    for (uint32_t i = 0; id && i < c->n_ids; i++)
        if (strcmp(c->ids[i], id) == 0) {
            c->done[i] = known ? (enum status)status : ST_BROKEN;
            asked = true;
        }
    if (!asked)
        err_set(&s->broken, ST_BROKEN,
                "%s() reported %s, which it was not asked for", op_of(c),
                shown(s, id));
    else if (!known)
        err_set(&s->broken, ST_BROKEN,
                "%s() reported status %d for %s; there are 0 to %d", op_of(c),
                status, shown(s, id), ST_COUNT - 1);
}

void sink_put_text(struct davit_sink *s, const char *text, size_t n)
{
    if (may_put(s) && text)
        buf_add(&s->text, text, n);
}

/* True: it is new, and is seen from now on. */
static bool id_add(struct hash *seen, const char *id)
{
    uint64_t h = hash_text(HASH_SEED, id);
    const char *x;
    for (uint32_t at = 0; (x = hash_next(seen, h, &at));)
        if (strcmp(x, id) == 0)
            return false;
    hash_add(seen, h, (void *)id);
    return true;
}

void sink_settle(struct davit_sink *s)
{
    struct call *c = s->call;
    uint32_t n = c->machines.n, kept = 0;
    struct hash seen;
    hash_init(&seen, NULL, n);
    for (uint32_t i = n; i-- > 0;)
        if (!id_add(&seen, c->machines.v[i].id))
            c->machines.v[i].id = NULL;
    hash_done(&seen);
    for (uint32_t i = 0; i < n; i++)
        if (c->machines.v[i].id)
            c->machines.v[kept++] = c->machines.v[i];
    c->machines.n = kept;
}
