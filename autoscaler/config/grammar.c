/*
 * grammar.c - mappings by their table of keys; see grammar.h.
 */
#include "grammar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../codec/codec.h"
#include "../model/amount.h"

enum {
    MOST_KEYS = 64,
    MOST_OPTIONS = 1000,
    LONGEST_NAME = 63,
    LONGEST_KEY = 1000
};

const char *grammar_where(struct reader *r, const char *where, const char *key)
{
    return *where ? arena_printf(r->arena, "%s.%s", where, key) : key;
}

const char *grammar_or(struct arena *arena, const char *const *words, size_t n)
{
    const char *s = words[0];

    for (size_t i = 1; i < n; i++)
        s = arena_printf(arena, "%s%s%s", s, i + 1 < n ? ", " : " or ",
                         words[i]);
    return s;
}

const char *grammar_hint(struct arena *arena, const char *word,
                         const char *const *words, size_t n)
{
    const char *near = suggest(word, words, n);

    return near ? arena_printf(arena, "; did you mean \"%s\"?", near) : "";
}

const char *path_resolve(struct arena *arena, const char *folder,
                         const char *path)
{
    const char *home;

    if (strncmp(path, "~/", 2) == 0 && (home = getenv("HOME")))
        return arena_printf(arena, "%s%s", home, path + 1);
    if (*path == '/' || !*folder)
        return arena_strdup(arena, path);
    return arena_printf(arena, "%s/%s", folder, path);
}

static void key_unknown(struct reader *r, const struct key *keys,
                        const struct ynode *key, const char *where)
{
    const char *words[MOST_KEYS];
    const char *list = "";
    size_t n = 0;

    for (const struct key *k = keys; k->name && n < MOST_KEYS; k++) {
        words[n++] = k->name;
        list = arena_printf(r->arena, "%s%s%s", list, *list ? ", " : "",
                            k->name);
    }
    diag_add(r->diag, key, "unknown key %s%s%s%s (allowed: %s)",
             diag_quote(r->arena, key->text), *where ? " in " : "", where,
             grammar_hint(r->arena, key->text, words, n), list);
}

bool grammar_map(struct reader *r, const struct ynode *v, const char *where,
                 const char *like)
{
    if (!v || v->kind == YNODE_MAP || v->kind == YNODE_NULL)
        return v && v->kind == YNODE_MAP;
    diag_add(r->diag, v, "%s must be a mapping%s, got %s",
             *where ? where : "the file", like, ynode_shown(r->arena, v));
    return false;
}

void grammar_read(struct reader *r, const struct key *keys,
                  const struct ynode *map, const char *where, void *target)
{
    for (uint32_t i = 0; grammar_map(r, map, where, "") && i < map->n; i++) {
        const struct ynode *key = map->pairs[i].key;
        const struct key *k = keys;
        while (k->name && strcmp(k->name, key->text) != 0)
            k++;
        if (!k->name)
            key_unknown(r, keys, key, where);
        else
            grammar_value(r, k, map->pairs[i].value,
                          grammar_where(r, where, k->name), target);
    }
}

void grammar_read_some(struct reader *r, const struct key *keys,
                       const struct ynode *map, const char *where, void *target)
{
    const struct ynode *v;

    if (!grammar_map(r, map, where, ""))
        return;
    for (const struct key *k = keys; k->name; k++)
        if ((v = ynode_get(map, k->name)))
            grammar_value(r, k, v, grammar_where(r, where, k->name), target);
}

struct flat {
    struct conf_pair *v;
    uint32_t n, cap;
};

static void flat_add(struct reader *r, struct flat *f, const char *key,
                     const char *value, const struct ynode *at)
{
    struct conf_pair p = {key, value, at->line, at->column};

    if (f->n == MOST_OPTIONS)
        diag_add(r->diag, at, "more than %d options", MOST_OPTIONS);
    if (f->n <= MOST_OPTIONS)
        VEC_PUSH(r->arena, f, p);
}

static void flatten(struct reader *r, struct flat *f, const struct ynode *v,
                    const char *key)
{
    if (f->n > MOST_OPTIONS || strlen(key) > LONGEST_KEY)
        return;
    if (v->kind == YNODE_TEXT)
        flat_add(r, f, key, v->text, v);
    if (v->kind == YNODE_MAP)
        for (uint32_t i = 0; i < v->n; i++)
            flatten(
                r, f, v->pairs[i].value,
                arena_printf(r->arena, "%s.%s", key, v->pairs[i].key->text));
    if (v->kind == YNODE_LIST)
        for (uint32_t i = 0; i < v->n; i++)
            flatten(r, f, v->items[i], arena_printf(r->arena, "%s.%u", key, i));
}

const struct conf_pair *grammar_flatten(struct reader *r,
                                        const struct ynode *map,
                                        const char *where, const char *except,
                                        uint32_t *ret_n)
{
    struct flat f = {0};

    *ret_n = 0;
    if (!grammar_map(r, map, where, ""))
        return NULL;
    for (uint32_t i = 0; i < map->n; i++)
        if (!except || strcmp(map->pairs[i].key->text, except) != 0)
            flatten(r, &f, map->pairs[i].value, map->pairs[i].key->text);
    *ret_n = f.n;
    return f.v;
}

const struct conf_pair *grammar_flatten_under(struct reader *r,
                                              const struct ynode *v,
                                              const char *key, uint32_t *ret_n)
{
    struct flat f = {0};

    flatten(r, &f, v, key);
    *ret_n = f.n;
    return f.v;
}

struct pairs grammar_pairs(struct reader *r, const struct ynode *map,
                           const char *where)
{
    VEC(struct pair) out = {0};

    if (!grammar_map(r, map, where, " of texts"))
        return (struct pairs){0};
    for (uint32_t i = 0; i < map->n; i++) {
        const struct ynode *k = map->pairs[i].key, *v = map->pairs[i].value;
        if (v->kind == YNODE_LIST || v->kind == YNODE_MAP) {
            diag_add(r->diag, v, "%s.%s must be text, got %s", where, k->text,
                     ynode_shown(r->arena, v));
            continue;
        }
        /* A null is written as "" or "~"; either way it is empty. */
        struct pair p = {k->text, v->kind == YNODE_NULL ? "" : v->text};
        VEC_PUSH(r->arena, &out, p);
    }
    return (struct pairs){out.v, out.n};
}
