/*
 * queues.c - named sets of node types for some of the demand.
 *
 * A queue is over types by name or by label.  Since Ray's scheduler knows
 * labels only, each type gets the label davit.io/queue with the first queue
 * that has it: a task that asks for that label is then placed there by Ray and
 * counted in the queue by us.
 */
#include <inttypes.h>
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "extras.h"

enum { MOST_QUEUES = 256, MOST_NAMES = 1000 };

struct name_list {
    VEC(const char *) all;
};

struct names grammar_names(struct reader *r, const struct ynode *v,
                           const char *where)
{
    struct name_list out = {{0}};

    if (v->kind == YNODE_TEXT && *v->text)
        VEC_PUSH(r->arena, &out.all, v->text);
    else if (v->kind != YNODE_LIST || v->n > MOST_NAMES)
        diag_add(r->diag, v, "%s must be a list of at most %d names, got %s",
                 where, MOST_NAMES, ynode_shown(r->arena, v));
    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++)
        if (v->items[i]->kind == YNODE_TEXT && *v->items[i]->text)
            VEC_PUSH(r->arena, &out.all, v->items[i]->text);
        else
            diag_add(r->diag, v->items[i], "%s must be names, got %s", where,
                     ynode_shown(r->arena, v->items[i]));
    return (struct names){out.all.v, out.all.n};
}

static void types_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    struct raw_queue *q = target;

    q->types_at = v;
    q->queue.types = grammar_names(r, v, where);
}

static void selector_read(struct reader *r, const struct ynode *v,
                          const char *where, void *target)
{
    struct raw_queue *q = target;

    q->selector_at = v;
    q->selector = grammar_pairs(r, v, where);
    if (v->kind == YNODE_MAP && v->n == 0)
        diag_add(r->diag, v, "%s is empty: such as {team: vision}", where);
}

static void owners_read(struct reader *r, const struct ynode *v,
                        const char *where, void *target)
{
    struct raw_queue *q = target;

    q->queue.owners = grammar_names(r, v, where);
}

/* Amount of devices or CPUs. */
static void amount_read(struct reader *r, const struct ynode *v,
                        const char *where, int64_t *ret)
{
    int64_t n;

    if (v->kind == YNODE_TEXT && strcmp(v->text, "unlimited") == 0)
        *ret = -1;
    else if (v->kind != YNODE_TEXT || !amount_parse(v->text, &n) ||
             n > INT64_C(1000000000) * AMOUNT_ONE)
        diag_add(
            r->diag, v,
            "%s must be a number between 0 and 1000000000, or unlimited, got "
            "%s",
            where, ynode_shown(r->arena, v));
    else
        *ret = n;
}

static void gpus_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    amount_read(r, v, where, &((struct raw_queue *)target)->queue.gpus);
}

static void cpus_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    amount_read(r, v, where, &((struct raw_queue *)target)->queue.cpus);
}

#define AT(member) .offset = offsetof(struct raw_queue, member)

static const struct key quota_keys[] = {
    {"gpus", KEY_CUSTOM, .read = gpus_read,
     .help = "GPUs that its work may have at once"},
    {"cpus", KEY_CUSTOM, .read = cpus_read,
     .help = "CPUs that its work may have at once"},
    {"nodes", KEY_COUNT, AT(queue.nodes), .max = 1000000, .word = "unlimited",
     .help = "machines for it at once"},
    KEYS_END,
};

const struct key queue_keys[] = {
    {"node_types", KEY_CUSTOM, .read = types_read,
     .help = "node types it may use"},
    {"selector", KEY_CUSTOM, .read = selector_read,
     .help = "the same by their labels"},
    {"quota", KEY_KEYS, .keys = quota_keys,
     .help = "what its work may have at once"},
    {"priority", KEY_INT, AT(queue.priority), .min = -1000000, .max = 1000000,
     .help = "added to the priority of what names it"},
    {"owners", KEY_CUSTOM, .read = owners_read, .help = "who may use it"},
    KEYS_END,
};

void queues_key_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target)
{
    static const struct key name = {.type = KEY_NAME};
    struct raw *d = r->ctx;

    (void)target;
    if (v->kind != YNODE_MAP || v->n > MOST_QUEUES) {
        diag_add(
            r->diag, v,
            "%s must be a mapping of at most %d queue names such as {a100: "
            "{node_types: [a100], quota: {gpus: 8}}}, got %s",
            where, MOST_QUEUES,
            v->kind == YNODE_MAP ? "more" : ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ynode *key = v->pairs[i].key;
        struct raw_queue *q = ARENA_NEW(r->arena, struct raw_queue);
        const char *good = NULL;

        grammar_value(r, &name, key, "a name under queues", &good);
        if (!good)
            continue;
        q->where = grammar_where(r, where, key->text);
        q->key = key;
        q->queue = (struct snap_queue){
            .name = key->text, .gpus = -1, .cpus = -1, .nodes = UNLIMITED};
        grammar_read(r, queue_keys, v->pairs[i].value, q->where, q);
        if (!q->types_at == !q->selector_at)
            diag_add(r->diag, key, "%s: give node_types or selector, %s",
                     q->where,
                     q->types_at ? "not both" : "which of them may it use?");
        VEC_PUSH(r->arena, &d->queues, q);
    }
}

/* ---- when all types are known */

static struct raw_type *type_named(struct raw *d, const char *name)
{
    for (uint32_t i = 0; i < d->types.n; i++)
        if (strcmp(d->types.v[i]->name, name) == 0)
            return d->types.v[i];
    return NULL;
}

static bool type_has(const struct raw_type *t, const struct pairs *selector)
{
    for (uint32_t i = 0; i < selector->n; i++) {
        const struct pair *p = &selector->v[i];
        const char *type = *t->accelerator ? t->accelerator
                                           : t->found.accelerator;
        bool has = (strcmp(p->key, ACCEL_LABEL) == 0 ||
                    strcmp(p->key, "accelerator_type") == 0) &&
                   *type &&
                   accel_type_serves(type, accel_type_canonical(p->value));

        for (uint32_t k = 0; k < t->labels.n && !has; k++)
            has = strcmp(t->labels.v[k].key, p->key) == 0 &&
                  strcmp(t->labels.v[k].value, p->value) == 0;
        if (!has)
            return false;
    }
    return true;
}

static void by_selector(struct raw *d, struct raw_queue *q)
{
    struct name_list out = {{0}};

    for (uint32_t i = 0; i < d->types.n; i++)
        if (type_has(d->types.v[i], &q->selector))
            VEC_PUSH(d->r.arena, &out.all, d->types.v[i]->name);
    if (out.all.n == 0)
        diag_add(d->r.diag, q->selector_at,
                 "%s.selector: no node type has these labels", q->where);
    q->queue.types = (struct names){out.all.v, out.all.n};
}

static void by_name(struct raw *d, struct raw_queue *q)
{
    for (uint32_t i = 0; i < q->queue.types.n; i++) {
        const char *name = q->queue.types.v[i];
        const char **names;

        if (type_named(d, name))
            continue;
        names = ARENA_ARRAY(d->r.arena, const char *, d->types.n);
        for (uint32_t k = 0; k < d->types.n; k++)
            names[k] = d->types.v[k]->name;
        diag_add(d->r.diag, q->types_at,
                 "%s.node_types: there is no node type %s%s", q->where,
                 diag_quote(d->r.arena, name),
                 grammar_hint(d->r.arena, name, names, d->types.n));
    }
}

static void label_types(struct raw *d, const struct raw_queue *q)
{
    for (uint32_t i = 0; i < q->queue.types.n; i++) {
        struct raw_type *t = type_named(d, q->queue.types.v[i]);
        const char *has = NULL;

        for (uint32_t k = 0; t && k < t->labels.n; k++)
            if (strcmp(t->labels.v[k].key, QUEUE_LABEL) == 0)
                has = t->labels.v[k].value;
        if (t && !has)
            shape_label(d, t, QUEUE_LABEL, q->queue.name);
        else if (t && strcmp(has, q->queue.name) != 0)
            diag_warn(
                d->r.diag, q->key,
                "%s is in the queue %s too: Ray's tasks can name only %s for "
                "it (by the label %s); requests can name both",
                t->where, q->queue.name, has, QUEUE_LABEL);
    }
}

void queues_finish(struct raw *d)
{
    struct snap_queue *v = ARENA_ARRAY(d->r.arena, struct snap_queue,
                                       d->queues.n);

    for (uint32_t i = 0; i < d->queues.n; i++) {
        struct raw_queue *q = d->queues.v[i];

        if (q->selector_at)
            by_selector(d, q);
        else
            by_name(d, q);
        v[i] = q->queue;
    }
    for (uint32_t i = 0; i < d->queues.n; i++)
        label_types(d, d->queues.v[i]);
    d->c->queues = v;
    d->c->n_queues = d->queues.n;
}
