/*
 * catalogue_read.c - the catalogue that comes with the program, and a user's
 * file over it.
 *
 * Read at every start, so it is one pass over the tree with no tables, and no
 * message is built unless there is a mistake (under 3 ms for what ships).
 */
#include "catalogue_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "file.h"
#include "grammar.h"

enum { MOST_DEVICES = 1024 };

__asm__(".pushsection .rodata\n"
        ".hidden davit_catalogue\n"
        ".hidden davit_catalogue_end\n"
        ".globl davit_catalogue\n"
        ".globl davit_catalogue_end\n"
        ".balign 16\n"
        "davit_catalogue:\n"
        ".incbin \"" CATALOGUE_FILE "\"\n"
        "davit_catalogue_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char davit_catalogue[], davit_catalogue_end[];

struct loading {
    struct arena *arena;
    struct diag *diag;
    VEC(const struct machine *) machines;
    VEC(const struct attachment *) attachments;
};

static const char *const machine_keys[] = {
    "cloud", "cpu",     "memory",    "gpu",         "neuron_cores",
    "HPU",   "TPU",     "NPU",       "accelerator", "price",
    "spot",  "region",  "as_of",     "attach",      "arch",
    "sold",  "network", "local_ssd", "nvlink",      "prices"};
static const char *const arches[] = {"amd64", "arm64"};
static const char *const markets[] = {"on-demand", "spot", "reserved",
                                      "flex-start"};
static const char *const attachment_keys[] = {
    "cloud",  "accelerator", "aliases", "price", "spot",
    "counts", "region",      "as_of",   "prices"};
#define COUNT(v) (sizeof(v) / sizeof *(v))

/* ---- values ---- */

static const char *text_take(struct loading *l, const struct ynode *v,
                             const char *entry, const char *key)
{
    if (v->kind == YNODE_TEXT)
        return v->text;
    diag_add(l->diag, v, "%s: %s must be text, got %s", entry, key,
             ynode_shown(l->arena, v));
    return "";
}

static int64_t money_take(struct loading *l, const struct ynode *v,
                          const char *entry, const char *key)
{
    int64_t micros;

    if (v->kind == YNODE_TEXT && money_parse(v->text, &micros) &&
        micros <= INT64_C(100000) * 1000000)
        return micros;
    diag_add(l->diag, v,
             "%s: %s must be dollars an hour between 0 and 100000 such as "
             "0.35, got %s",
             entry, key, ynode_shown(l->arena, v));
    return -1;
}

static int64_t amount_take(struct loading *l, const struct ynode *v,
                           const char *entry, const char *key)
{
    bool memory = strcmp(key, "memory") == 0;
    bool cpu = strcmp(key, "cpu") == 0;
    int64_t a;

    if (v->kind == YNODE_TEXT && amount_parse(v->text, &a) && a > 0 &&
        (memory || cpu ||
         (a % AMOUNT_ONE == 0 && a <= MOST_DEVICES * AMOUNT_ONE)))
        return a;
    diag_add(l->diag, v, "%s: %s must be %s, got %s", entry, key,
             memory ? "an amount such as 61Gi"
             : cpu  ? "a number above 0"
                    : "a whole number between 1 and 1024",
             ynode_shown(l->arena, v));
    return 0;
}

static const char *region_take(struct loading *l, const struct ynode *v,
                               const char *entry, const char *key)
{
    return v->kind == YNODE_NULL ? "" : text_take(l, v, entry, key);
}

/* {eu-west-1: 0.99}: what it costs in other regions. */
static struct cat_prices prices_take(struct loading *l, const struct ynode *v,
                                     const char *entry)
{
    struct cat_price *all;

    if (v->kind != YNODE_MAP) {
        diag_add(l->diag, v,
                 "%s: prices must be a mapping of regions such as {eu-west-1: "
                 "0.99}, got %s",
                 entry, ynode_shown(l->arena, v));
        return (struct cat_prices){0};
    }
    all = ARENA_ARRAY(l->arena, struct cat_price, v->n);
    for (uint32_t i = 0; i < v->n; i++)
        all[i] = (struct cat_price){
            v->pairs[i].key->text,
            money_take(
                l, v->pairs[i].value, entry,
                arena_printf(l->arena, "prices.%s", v->pairs[i].key->text))};
    return (struct cat_prices){all, v->n};
}

static void key_refuse(struct loading *l, const struct ynode *key,
                       const char *entry, const char *const *keys, size_t n)
{
    diag_add(l->diag, key, "unknown key %s in %s%s (allowed: %s)",
             diag_quote(l->arena, key->text), entry,
             grammar_hint(l->arena, key->text, keys, n),
             grammar_or(l->arena, keys, n));
}

static void resource_add(struct qty *v, uint32_t *n, const char *name,
                         int64_t amount)
{
    if (amount)
        v[(*n)++] = (struct qty){name, amount};
}

/* ---- entries ---- */

/* The keys of a machine that are resources; NULL: it is none. */
static const char *resource_name(const char *key)
{
    if (strcmp(key, "cpu") == 0)
        return "CPU";
    if (strcmp(key, "memory") == 0)
        return "memory";
    if (strcmp(key, "gpu") == 0)
        return "GPU";
    return accel_is_device(key) ? key : NULL;
}

static void attach_read(struct loading *l, const struct ynode *v,
                        const char *entry, struct machine *m)
{
    if (v->kind == YNODE_TEXT &&
        (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0))
        m->attach = *v->text == 't';
    else
        diag_add(l->diag, v, "%s: attach must be true or false, got %s", entry,
                 ynode_shown(l->arena, v));
}

static bool is_among(const char *const *names, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], s) == 0)
            return true;
    return false;
}

static const char *arch_take(struct loading *l, const struct ynode *v,
                             const char *entry)
{
    if (v->kind == YNODE_TEXT && is_among(arches, COUNT(arches), v->text))
        return v->text;
    diag_add(l->diag, v, "%s: arch must be %s, got %s", entry,
             grammar_or(l->arena, arches, COUNT(arches)),
             ynode_shown(l->arena, v));
    return "";
}

/* [reserved, spot]: as one text. */
static const char *sold_take(struct loading *l, const struct ynode *v,
                             const char *entry)
{
    const char *all = "";

    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++) {
        const struct ynode *x = v->items[i];

        if (x->kind != YNODE_TEXT ||
            !is_among(markets, COUNT(markets), x->text)) {
            all = "";
            break;
        }
        all = arena_printf(l->arena, "%s%s%s", all, *all ? ", " : "", x->text);
    }
    if (!*all)
        diag_add(l->diag, v, "%s: sold must be a list of %s, got %s", entry,
                 grammar_or(l->arena, markets, COUNT(markets)),
                 ynode_shown(l->arena, v));
    return all;
}

/* What is no resource that Ray knows. */
static bool fact_read(struct loading *l, const char *k, const struct ynode *v,
                      const char *entry, struct cat_machine *m)
{
    if (strcmp(k, "arch") == 0)
        m->arch = arch_take(l, v, entry);
    else if (strcmp(k, "sold") == 0)
        m->sold = sold_take(l, v, entry);
    else if (strcmp(k, "network") == 0)
        m->network = text_take(l, v, entry, k);
    else if (strcmp(k, "local_ssd") == 0)
        m->local_ssd = amount_take(l, v, entry, "memory");
    else if (strcmp(k, "nvlink") == 0)
        m->nvlink = (uint32_t)(amount_take(l, v, entry, k) / AMOUNT_ONE);
    else
        return false;
    return true;
}

static void machine_value_read(struct loading *l, const struct ynode *key,
                               const struct ynode *v, const char *entry,
                               struct machine *m)
{
    const char *k = key->text;

    if (strcmp(k, "cloud") == 0)
        m->m.cloud = text_take(l, v, entry, k);
    else if (strcmp(k, "accelerator") == 0)
        m->m.accelerator = accel_type_canonical(text_take(l, v, entry, k));
    else if (strcmp(k, "price") == 0)
        m->m.price_micros_hour = money_take(l, v, entry, k);
    else if (strcmp(k, "prices") == 0)
        m->m.prices = prices_take(l, v, entry);
    else if (strcmp(k, "spot") == 0)
        m->m.spot_micros_hour = money_take(l, v, entry, k);
    else if (strcmp(k, "region") == 0)
        m->m.region = region_take(l, v, entry, k);
    else if (strcmp(k, "as_of") == 0)
        m->m.as_of = region_take(l, v, entry, k);
    else if (strcmp(k, "attach") == 0)
        attach_read(l, v, entry, m);
    else if (!fact_read(l, k, v, entry, &m->m))
        key_refuse(l, key, entry, machine_keys, COUNT(machine_keys));
}

static void machine_read(struct loading *l, const struct ynode *name,
                         const struct ynode *map)
{
    struct machine *m = ARENA_NEW(l->arena, struct machine);
    struct qty *q = ARENA_ARRAY(l->arena, struct qty, COUNT(machine_keys));
    uint32_t n = 0;
    bool device = false;

    m->m = (struct cat_machine){.name = name->text,
                                .cloud = "",
                                .accelerator = "",
                                .region = "",
                                .as_of = "",
                                .arch = "",
                                .network = "",
                                .sold = "",
                                .price_micros_hour = -1,
                                .spot_micros_hour = -1};
    if (map->kind != YNODE_MAP) {
        diag_add(l->diag, map,
                 "%s must be a mapping such as {cpu: 4, memory: 61Gi, gpu: 1, "
                 "accelerator: K80, price: 0.90}, got %s",
                 name->text, ynode_shown(l->arena, map));
        return;
    }
    for (uint32_t i = 0; i < map->n; i++) {
        const struct ynode *key = map->pairs[i].key, *v = map->pairs[i].value;
        const char *resource = resource_name(key->text);

        if (!resource) {
            machine_value_read(l, key, v, name->text, m);
            continue;
        }
        device = device || accel_is_device(resource);
        resource_add(q, &n, resource, amount_take(l, v, name->text, key->text));
    }
    if (!ynode_get(map, "cpu") || !ynode_get(map, "memory"))
        diag_add(l->diag, map, "%s: %s is missing", name->text,
                 ynode_get(map, "cpu") ? "memory" : "cpu");
    if (device && m->attach)
        diag_add(l->diag, map,
                 "%s: a type with devices of its own takes no attached ones: "
                 "leave attach out",
                 name->text);
    m->m.resources = (struct qtys){q, n};
    VEC_PUSH(l->arena, &l->machines, m);
}

static void counts_read(struct loading *l, struct attachment *a,
                        const struct ynode *v)
{
    for (uint32_t i = 0; v->kind == YNODE_LIST && i < v->n; i++) {
        int64_t c;
        if (a->n_counts < MOST_COUNTS && v->items[i]->kind == YNODE_TEXT &&
            amount_parse(v->items[i]->text, &c) && c > 0 &&
            c % AMOUNT_ONE == 0 && c <= MOST_DEVICES * AMOUNT_ONE)
            a->counts[a->n_counts++] = (uint32_t)(c / AMOUNT_ONE);
        else
            a->n_counts = MOST_COUNTS + 1; /* refused below */
    }
    if (a->n_counts && a->n_counts <= MOST_COUNTS)
        return;
    a->n_counts = 0;
    diag_add(l->diag, v,
             "%s: counts must be a list of whole numbers such as [1, 2, 4]",
             a->name);
}

static struct names aliases_read(struct loading *l, const char *entry,
                                 const struct ynode *v)
{
    const char **names;

    if (v->kind != YNODE_LIST) {
        diag_add(l->diag, v, "%s: aliases must be a list of names, got %s",
                 entry, ynode_shown(l->arena, v));
        return (struct names){0};
    }
    names = ARENA_ARRAY(l->arena, const char *, v->n);
    for (uint32_t i = 0; i < v->n; i++)
        names[i] = text_take(l, v->items[i], entry, "aliases");
    return (struct names){names, v->n};
}

static void attachment_read(struct loading *l, const struct ynode *name,
                            const struct ynode *map)
{
    struct attachment *a = ARENA_NEW(l->arena, struct attachment);

    *a = (struct attachment){.name = name->text,
                             .cloud = "",
                             .accelerator = accel_type_canonical(name->text),
                             .region = "",
                             .as_of = "",
                             .price = -1,
                             .spot = -1};
    if (map->kind != YNODE_MAP) {
        diag_add(l->diag, map,
                 "%s must be a mapping such as {accelerator: T4, price: 0.35, "
                 "counts: [1, 2, 4]}, got %s",
                 name->text, ynode_shown(l->arena, map));
        return;
    }
    for (uint32_t i = 0; i < map->n; i++) {
        const char *k = map->pairs[i].key->text, *e = name->text;
        const struct ynode *v = map->pairs[i].value;
        if (strcmp(k, "cloud") == 0)
            a->cloud = text_take(l, v, e, k);
        else if (strcmp(k, "accelerator") == 0)
            a->accelerator = accel_type_canonical(text_take(l, v, e, k));
        else if (strcmp(k, "aliases") == 0)
            a->aliases = aliases_read(l, e, v);
        else if (strcmp(k, "price") == 0)
            a->price = money_take(l, v, e, k);
        else if (strcmp(k, "prices") == 0)
            a->prices = prices_take(l, v, e);
        else if (strcmp(k, "spot") == 0)
            a->spot = money_take(l, v, e, k);
        else if (strcmp(k, "counts") == 0)
            counts_read(l, a, v);
        else if (strcmp(k, "region") == 0)
            a->region = region_take(l, v, e, k);
        else if (strcmp(k, "as_of") == 0)
            a->as_of = region_take(l, v, e, k);
        else
            key_refuse(l, map->pairs[i].key, e, attachment_keys,
                       COUNT(attachment_keys));
    }
    if (!a->n_counts) {
        a->counts[0] = 1;
        a->n_counts = 1;
    }
    VEC_PUSH(l->arena, &l->attachments, a);
}

static void section_read(struct loading *l, const struct ynode *map,
                         const char *section,
                         void (*read)(struct loading *, const struct ynode *,
                                      const struct ynode *))
{
    if (map->kind == YNODE_NULL)
        return;
    if (map->kind != YNODE_MAP) {
        diag_add(l->diag, map, "%s must be a mapping of names, got %s", section,
                 ynode_shown(l->arena, map));
        return;
    }
    for (uint32_t i = 0; i < map->n; i++)
        read(l, map->pairs[i].key, map->pairs[i].value);
}

static void file_read(struct loading *l, const char *text, size_t n)
{
    static const char *const keys[] = {"schema", "machines", "accelerators"};
    const struct ynode *root, *schema;
    struct yaml_docs docs;

    if (yaml_read(l->arena, text, n, l->diag, &docs) != ST_OK)
        return;
    root = docs.n == 1 ? docs.v[0] : NULL;
    schema = ynode_get(root, "schema");
    if (!schema || schema->kind != YNODE_TEXT ||
        strcmp(schema->text, "davit-catalogue/1") != 0) {
        diag_add(l->diag, schema ? schema : root,
                 "a catalogue is one document that says \"schema: "
                 "davit-catalogue/1\"%s%s",
                 schema ? ", got " : "",
                 schema ? ynode_shown(l->arena, schema) : "");
        return;
    }
    for (uint32_t i = 0; i < root->n; i++) {
        const char *k = root->pairs[i].key->text;
        if (strcmp(k, "machines") == 0)
            section_read(l, root->pairs[i].value, k, machine_read);
        else if (strcmp(k, "accelerators") == 0)
            section_read(l, root->pairs[i].value, k, attachment_read);
        else if (strcmp(k, "schema") != 0)
            key_refuse(l, root->pairs[i].key, "the catalogue", keys,
                       COUNT(keys));
    }
}

/* ---- the whole ---- */

/* Later entries replace earlier ones of the same name: merges the user's
 * sorted list into the shipped sorted list. */
static void machines_settle(struct loading *l, uint32_t shipped,
                            struct catalogue *c)
{
    const struct machine **in = l->machines.v, **out;
    uint32_t i = 0, j = shipped, n = 0;

    out = ARENA_ARRAY(l->arena, const struct machine *, l->machines.n);
    if (shipped)
        qsort(in, shipped, sizeof *in, machine_order);
    if (l->machines.n > shipped)
        qsort(in + shipped, l->machines.n - shipped, sizeof *in, machine_order);
    while (i < shipped || j < l->machines.n) {
        int d = i == shipped         ? 1
                : j == l->machines.n ? -1
                                     : machine_order(&in[i], &in[j]);
        out[n++] = d < 0 ? in[i] : in[j];
        i += d <= 0;
        j += d >= 0;
    }
    c->machines = out;
    c->n_machines = n;
}

enum status catalogue_load(struct arena *arena, const char *extra,
                           struct catalogue **ret, struct buf *errors)
{
    struct catalogue *c = ARENA_NEW(arena, struct catalogue);
    struct diag d = {.arena = arena, .path = "the catalogue in this program"};
    struct loading l = {.arena = arena, .diag = &d};
    uint32_t shipped;

    *ret = NULL;
    file_read(&l, davit_catalogue,
              (size_t)(davit_catalogue_end - davit_catalogue));
    shipped = l.machines.n;
    if (extra && *extra && !d.mistakes.n) {
        struct err err;
        size_t n;
        char *text;
        d.path = extra;
        if (file_slurp(extra, YAML_MAX_TEXT, &text, &n, &err) != ST_OK) {
            diag_add(&d, NULL, "%s", err.text);
        } else {
            file_read(&l, text, n);
            free(text);
        }
    }
    if (d.mistakes.n) {
        diag_write(&d, errors);
        return ST_INVALID;
    }
    machines_settle(&l, shipped, c);
    c->attachments = l.attachments.v;
    c->n_attachments = l.attachments.n;
    *ret = c;
    return ST_OK;
}
