/*
 * grammar_value.c - one value by its key's type; see grammar.h.
 */
#include "grammar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../codec/codec.h"
#include "../model/amount.h"

enum { LONGEST_NAME = 63 };

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
            continue; /* finer than a micro-dollar */
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
            n = n * 10 + (*p - '0'); /* else: too large in any case */
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
    case KEY_TEXT: s = "text"; break;
    case KEY_NAME:
        s = arena_printf(
            arena,
            "a name of at most %d letters, digits, \".\", \"_\" and \"-\" that "
            "starts with a letter or digit",
            (int)(k->max ? k->max : LONGEST_NAME));
        break;
    case KEY_FILE:
    case KEY_PATH: s = "a path"; break;
    case KEY_BOOL: s = "true or false"; break;
    case KEY_COUNT:
    case KEY_INT:
        s = arena_printf(arena,
                         "a whole number between %" PRId64 " and %" PRId64,
                         k->min, k->max);
        break;
    case KEY_TIME:
        s = arena_printf(
            arena, "a time between %s and %s such as 500ms, 60s, 5m or 2h",
            time_text(arena, k->min), time_text(arena, k->max));
        break;
    case KEY_MONEY:
        s = arena_printf(
            arena, "dollars between %" PRId64 " and %" PRId64 " such as 2.48",
            k->min, k->max);
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
    case KEY_CUSTOM: s = "a mapping"; break;
    }
    return k->word ? arena_printf(arena, "%s, or %s", s, k->word) : s;
}

static void refuse(struct reader *r, const struct key *k, const struct ynode *v,
                   const char *where)
{
    const char *names[POLICY_RAY + 1], *near = "";

    if (k->type == KEY_POLICY && v->kind == YNODE_TEXT) {
        for (int i = 0; i <= POLICY_RAY; i++)
            names[i] = policy_name((enum policy)i);
        near = grammar_hint(r->arena, v->text, names, POLICY_RAY + 1);
    }
    diag_add(r->diag, v, "%s must be %s, got %s%s", where, allowed(r->arena, k),
             ynode_shown(r->arena, v), near);
}

static bool name_good(const char *s, size_t max)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(s);

    return n && n <= max && strspn(s, letters) == n && !strchr("._-", *s);
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
    case KEY_PATH: *(const char **)at = s; return *s != '\0';
    case KEY_FILE:
        *(const char **)at = path_resolve(r->arena, r->base, s);
        return *s != '\0';
    case KEY_NAME:
        *(const char **)at = s;
        return name_good(s, k->max ? (size_t)k->max : LONGEST_NAME);
    case KEY_BOOL: return bool_parse(s, at);
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
    case KEY_POLICY: return policy_from_name(s, at);
    case KEY_KEYS:
    case KEY_CUSTOM: break;
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
        size_t n = key->type == KEY_BOOL     ? sizeof(bool)
                   : key->type == KEY_COUNT  ? sizeof(uint32_t)
                   : key->type == KEY_INT    ? sizeof(int32_t)
                   : key->type == KEY_POLICY ? sizeof(enum policy)
                                             : sizeof(int64_t);
        memcpy(kept, at, n); /* a refused value leaves the default */
        if (!scalar_take(r, key, v->text, at)) {
            memcpy(at, kept, n);
            refuse(r, key, v, where);
        }
    }
}

bool grammar_name(struct reader *r, const struct ynode *key, const char *where,
                  int64_t max)
{
    const struct key name = {.type = KEY_NAME, .max = max};
    const char *value = NULL;

    grammar_value(r, &name, key, where, &value);
    return value;
}
