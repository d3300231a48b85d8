/*
 * grammar.c - see grammar.h.
 */
#include "grammar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/amount.h"
#include "../codec/codec.h"

enum { MOST_KEYS = 64, MOST_OPTIONS = 1000, LONGEST_NAME = 63,
       LONGEST_KEY = 1000 };

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

bool money_parse(const char *text, int64_t *ret_micros)
{
    int64_t value = 0, scale = 1000000;
    bool digits = false, point = false;

    for (const char *p = text; *p; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9')
            return false;
        digits = true;
        if (point && scale == 1)
            continue;  /* finer than a micro-dollar */
        if (value > (INT64_MAX / 2000000 - 9) / 10)
            return false;
        if (point)
            scale /= 10;
        value = value * 10 + (*p - '0');
    }
    *ret_micros = value * scale;
    return digits;
}

static bool int_parse(const char *text, int64_t *ret)
{
    const char *p = text + (*text == '-' || *text == '+');
    int64_t n = 0;

    if (!*p)
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        if (n < INT64_MAX / 20)
            n = n * 10 + (*p - '0');  /* else: too large in any case */
    }
    *ret = *text == '-' ? -n : n;
    return true;
}

static const char *time_text(struct arena *arena, int64_t ms)
{
    if (ms % 86400000 == 0 && ms > 86400000)
        return arena_printf(arena, "%" PRId64 " days", ms / 86400000);
    if (ms % 3600000 == 0 && ms)
        return arena_printf(arena, "%" PRId64 "h", ms / 3600000);
    if (ms % 60000 == 0 && ms)
        return arena_printf(arena, "%" PRId64 "m", ms / 60000);
    if (ms % 1000 == 0)
        return arena_printf(arena, "%" PRId64 "s", ms / 1000);
    return arena_printf(arena, "%" PRId64 "ms", ms);
}

/* What a key allows, for the message. */
static const char *allowed(struct arena *arena, const struct key *k)
{
    const char *s = "";
    const char *names[POLICY_RAY + 1];

    switch (k->type) {
    case KEY_TEXT:
        s = "text";
        break;
    case KEY_NAME:
        s = arena_printf(arena, "a name of at most %d letters, digits, "
                         "\".\", \"_\" and \"-\" that starts with a letter or "
                         "digit", (int)(k->max ? k->max : LONGEST_NAME));
        break;
    case KEY_FILE:
    case KEY_PATH:
        s = "a path";
        break;
    case KEY_BOOL:
        s = "true or false";
        break;
    case KEY_COUNT:
    case KEY_INT:
        s = arena_printf(arena, "a whole number between %" PRId64 " and %"
                         PRId64, k->min, k->max);
        break;
    case KEY_TIME:
        s = arena_printf(arena, "a time between %s and %s such as 500ms, 60s, "
                         "5m or 2h", time_text(arena, k->min),
                         time_text(arena, k->max));
        break;
    case KEY_MONEY:
        s = arena_printf(arena, "dollars between %" PRId64 " and %" PRId64
                         " such as 2.48", k->min, k->max);
        break;
    case KEY_FACTOR:
        s = arena_printf(arena, "a number between %" PRId64 " and %" PRId64,
                         k->min, k->max);
        break;
    case KEY_POLICY:
        for (int i = 0; i <= POLICY_RAY; i++)
            names[i] = policy_name((enum policy)i);
        s = grammar_or(arena, names, POLICY_RAY + 1);
        break;
    case KEY_KEYS:
    case KEY_CUSTOM:
        s = "a mapping";
        break;
    }
    return k->word ? arena_printf(arena, "%s, or %s", s, k->word) : s;
}

static void refuse(struct reader *r, const struct key *k,
                   const struct ynode *v, const char *where)
{
    const char *names[POLICY_RAY + 1], *near = "";

    if (k->type == KEY_POLICY && v->kind == YNODE_TEXT) {
        for (int i = 0; i <= POLICY_RAY; i++)
            names[i] = policy_name((enum policy)i);
        near = grammar_hint(r->arena, v->text, names, POLICY_RAY + 1);
    }
    diag_add(r->diag, v, "%s must be %s, got %s%s", where,
             allowed(r->arena, k), ynode_say(r->arena, v), near);
}

static bool name_good(const char *s, size_t max)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(s);

    return n && n <= max && strspn(s, letters) == n &&
           !strchr("._-", *s);
}

static bool bool_parse(const char *s, bool *ret)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "on"};
    static const char *const no[] = {"false", "False", "FALSE", "no", "off"};

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcmp(s, yes[i]) != 0 && strcmp(s, no[i]) != 0)
            continue;
        *ret = strcmp(s, yes[i]) == 0;
        return true;
    }
    return false;
}

/* False: the text is not what the key takes. */
static bool scalar_take(struct reader *r, const struct key *k, const char *s,
                        void *at)
{
    bool worded = k->word && strcmp(s, k->word) == 0;
    int64_t n = 0;

    switch (k->type) {
    case KEY_TEXT:
    case KEY_PATH:
        *(const char **)at = s;
        return *s != '\0';
    case KEY_FILE:
        *(const char **)at = path_resolve(r->arena, r->base, s);
        return *s != '\0';
    case KEY_NAME:
        *(const char **)at = s;
        return name_good(s, k->max ? (size_t)k->max : LONGEST_NAME);
    case KEY_BOOL:
        return bool_parse(s, at);
    case KEY_COUNT:
        if (!worded && (!int_parse(s, &n) || n < k->min || n > k->max))
            return false;
        *(uint32_t *)at = worded ? UNLIMITED : (uint32_t)n;
        return true;
    case KEY_INT:
        if (!int_parse(s, &n) || n < k->min || n > k->max)
            return false;
        *(int32_t *)at = (int32_t)n;
        return true;
    case KEY_TIME:
        if (!worded && (!duration_parse(s, &n) || n < k->min || n > k->max))
            return false;
        *(int64_t *)at = worded ? k->word_value : n;
        return true;
    case KEY_MONEY:
        if (!worded && (!money_parse(s, &n) || n < k->min * 1000000 ||
                        n > k->max * 1000000))
            return false;
        *(int64_t *)at = worded ? -1 : n;
        return true;
    case KEY_FACTOR:
        if (strspn(s, "0123456789.") != strlen(s) || !amount_parse(s, &n) ||
            n < k->min * AMOUNT_ONE || n > k->max * AMOUNT_ONE)
            return false;
        *(int64_t *)at = n;
        return true;
    case KEY_POLICY:
        return policy_from_name(s, at);
    case KEY_KEYS:
    case KEY_CUSTOM:
        break;
    }
    return false;
}

void grammar_value(struct reader *r, const struct key *key,
                   const struct ynode *v, const char *where, void *target)
{
    char kept[16];
    void *at = (char *)target + key->offset;

    if (v->kind == YNODE_NULL)
        return;
    if (key->type == KEY_CUSTOM) {
        key->read(r, v, where, target);
    } else if (key->type == KEY_KEYS) {
        grammar_read(r, key->keys, v, where, target);
    } else if (v->kind != YNODE_TEXT) {
        refuse(r, key, v, where);
    } else {
        size_t n = key->type == KEY_BOOL ? sizeof(bool)
                 : key->type == KEY_COUNT ? sizeof(uint32_t)
                 : key->type == KEY_INT ? sizeof(int32_t)
                 : key->type == KEY_POLICY ? sizeof(enum policy)
                 : sizeof(int64_t);
        memcpy(kept, at, n);  /* a refused value leaves the default */
        if (!scalar_take(r, key, v->text, at)) {
            memcpy(at, kept, n);
            refuse(r, key, v, where);
        }
    }
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

static bool is_map(struct reader *r, const struct ynode *v, const char *where)
{
    if (v->kind == YNODE_MAP || v->kind == YNODE_NULL)
        return v->kind == YNODE_MAP;
    diag_add(r->diag, v, "%s must be a mapping, got %s",
             *where ? where : "the file", ynode_say(r->arena, v));
    return false;
}

void grammar_read(struct reader *r, const struct key *keys,
                  const struct ynode *map, const char *where, void *target)
{
    for (uint32_t i = 0; is_map(r, map, where) && i < map->n; i++) {
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
                       const struct ynode *map, const char *where,
                       void *target)
{
    const struct ynode *v;

    if (!is_map(r, map, where))
        return;
    for (const struct key *k = keys; k->name; k++)
        if ((v = ynode_get(map, k->name)))
            grammar_value(r, k, v, grammar_where(r, where, k->name), target);
}

struct flat { struct conf_pair *v; uint32_t n, cap; };

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
            flatten(r, f, v->pairs[i].value,
                    arena_printf(r->arena, "%s.%s", key,
                                 v->pairs[i].key->text));
    if (v->kind == YNODE_LIST)
        for (uint32_t i = 0; i < v->n; i++)
            flatten(r, f, v->items[i],
                    arena_printf(r->arena, "%s.%u", key, i));
}

const struct conf_pair *grammar_flatten(struct reader *r,
                                        const struct ynode *map,
                                        const char *where, const char *except,
                                        uint32_t *ret_n)
{
    struct flat f = {0};

    *ret_n = 0;
    if (!map || map->kind == YNODE_NULL)
        return NULL;
    if (map->kind != YNODE_MAP) {
        diag_add(r->diag, map, "%s must be a mapping, got %s", where,
                 ynode_say(r->arena, map));
        return NULL;
    }
    for (uint32_t i = 0; i < map->n; i++)
        if (!except || strcmp(map->pairs[i].key->text, except) != 0)
            flatten(r, &f, map->pairs[i].value, map->pairs[i].key->text);
    *ret_n = f.n;
    return f.v;
}

struct pairs grammar_pairs(struct reader *r, const struct ynode *map,
                           const char *where)
{
    VEC(struct pair) out = {0};

    if (!map || map->kind == YNODE_NULL)
        return (struct pairs){0};
    if (map->kind != YNODE_MAP) {
        diag_add(r->diag, map, "%s must be a mapping of texts, got %s", where,
                 ynode_say(r->arena, map));
        return (struct pairs){0};
    }
    for (uint32_t i = 0; i < map->n; i++) {
        const struct ynode *k = map->pairs[i].key, *v = map->pairs[i].value;
        if (v->kind == YNODE_LIST || v->kind == YNODE_MAP) {
            diag_add(r->diag, v, "%s.%s must be text, got %s", where, k->text,
                     ynode_say(r->arena, v));
            continue;
        }
        /* A null is written as "" or "~"; either way it is empty. */
        struct pair p = {k->text, v->kind == YNODE_NULL ? "" : v->text};
        VEC_PUSH(r->arena, &out, p);
    }
    return (struct pairs){out.v, out.n};
}
