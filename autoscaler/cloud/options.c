/*
 * options.c - a provider's options, checked against its plug-in's table.
 *
 * So a misspelt option is reported with its line and column whoever wrote the
 * plug-in, and what open() itself refuses at the option it names.
 */
#include "opening.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/suggest.h"
#include "inside.h"

#define TYPE_PREFIX "types."

void opening_error(struct opening *o, uint32_t line, uint32_t column)
{
    o->mistakes++;
    const char *path = o->config->path;
    if (!path || path[0] == '\0')
        return;
    buf_printf(o->errors, "%s:", path);
    if (line > 0)
        buf_printf(o->errors, "%u:%u:", line, column);
    buf_str(o->errors, " ");
}

bool opening_has_type(const struct opening *o, uint32_t i)
{
    return strcmp(o->config->types[i].fact.provider, o->conf->name) == 0;
}

/* ---- against the table */

static bool key_allowed(const char *pattern, const char *key)
{
    size_t n = strlen(pattern);
    if (n > 0 && pattern[n - 1] == '*')
        return strncmp(pattern, key, n - 1) == 0;
    if (strcmp(pattern, key) == 0)
        return true;
    /* A list is flattened to KEY.0, KEY.1 ...: the same option. */
    return strncmp(pattern, key, n) == 0 && key[n] == '.' &&
           key[n + 1] != '\0' &&
           strspn(key + n + 1, "0123456789") == strlen(key + n + 1);
}

/* The table's keys of one kind: of the provider, or of node types. */
static const char **keys_of(struct opening *o, bool of_types, uint32_t *ret_n)
{
    const struct davit_kv *table = o->table->options;
    const size_t prefix = strlen(TYPE_PREFIX);
    uint32_t n = 0, all = 0;
    while (table && table[all].key)
        all++;
    const char **keys = ARENA_ARRAY(&o->arena, const char *, all + 1);
    for (uint32_t i = 0; i < all; i++)
        if ((strncmp(table[i].key, TYPE_PREFIX, prefix) == 0) == of_types)
            keys[n++] = table[i].key + (of_types ? prefix : 0);
    *ret_n = n;
    return keys;
}

/* An option that is the host's own, whatever the plug-in: the CA of its HTTP.
 * A plug-in that has one of that name keeps it. */
static bool is_hosts(const struct opening *o, const char *key)
{
    const struct davit_kv *table = o->table->options;
    bool hosts = strcmp(key, "ca_file") == 0;
    for (; hosts && table && table->key; table++)
        hosts = strcmp(table->key, key) != 0;
    return hosts;
}

/* of: whose they are, NULL the provider's. */
static void check_keys(struct opening *o, const char *what,
                       const struct conf_type *of,
                       const struct conf_pair *pairs, uint32_t n_pairs)
{
    uint32_t n;
    const char **keys = keys_of(o, of, &n);
    for (uint32_t i = 0; i < n_pairs; i++) {
        bool allowed = !of && is_hosts(o, pairs[i].key);
        for (uint32_t k = 0; k < n && !allowed; k++)
            allowed = key_allowed(keys[k], pairs[i].key);
        if (allowed)
            continue;
        opening_error(o, pairs[i].line, pairs[i].column);
        VEC_PUSH(
            &o->arena, &o->refused,
            of ? arena_printf(&o->arena, "%s.%s", of->fact.name, pairs[i].key)
               : pairs[i].key);
        buf_printf(o->errors, "%s has no option \"%s\"", what, pairs[i].key);
        const char *like = n > 0 ? suggest(pairs[i].key, keys, n) : NULL;
        if (like)
            buf_printf(o->errors, "; did you mean \"%s\"?", like);
        buf_str(o->errors, n > 0 ? " (allowed:" : " (it takes none");
        for (uint32_t k = 0; k < n; k++)
            buf_printf(o->errors, "%s %s", k > 0 ? "," : "", keys[k]);
        buf_str(o->errors, ")\n");
    }
}

static void check_spot(struct opening *o, const struct conf_type *t)
{
    bool spot = false;
    for (uint32_t i = 0; i < t->fact.n_offers; i++)
        spot = spot || t->fact.offers[i].spot;
    if (!spot || (o->table->caps & DAVIT_CAP_SPOT) != 0)
        return;
    opening_error(o, t->line, t->column);
    buf_printf(o->errors,
               "node type %s is to be spot, but provider %s has no spot "
               "market; take spot: out\n",
               t->fact.name, o->conf->name);
}

void options_check(struct opening *o)
{
    const struct config *c = o->config;
    char what[160];
    snprintf(what, sizeof what, "provider %s", o->conf->name);
    check_keys(o, what, NULL, o->conf->options, o->conf->n_options);
    for (uint32_t i = 0; i < c->n_types; i++) {
        if (!opening_has_type(o, i))
            continue;
        snprintf(what, sizeof what, "node type %s (of provider %s)",
                 c->types[i].fact.name, o->conf->name);
        check_keys(o, what, &c->types[i], c->types[i].options,
                   c->types[i].n_options);
        check_spot(o, &c->types[i]);
    }
}

/* ---- the host's own */

void options_ca_file(struct opening *o, struct provider *p)
{
    const char *path = getenv("SSL_CERT_FILE");
    const struct conf_pair *from = NULL;
    for (uint32_t i = 0; i < o->conf->n_options; i++)
        if (is_hosts(o, o->conf->options[i].key))
            from = &o->conf->options[i];
    if (from)
        path = from->value;
    if (!path || path[0] == '\0')
        return;
    const char *base = o->config->path ? o->config->path : "";
    const char *slash = strrchr(base, '/');
    p->ca_file = path[0] == '/' || !slash || !from
                     ? arena_strdup(&p->arena, path)
                     : arena_printf(&p->arena, "%.*s/%s", (int)(slash - base),
                                    base, path);
    if (!from || access(p->ca_file, R_OK) == 0)
        return;
    opening_error(o, from->line, from->column);
    buf_printf(o->errors, "provider %s: ca_file %s: %s\n", o->conf->name,
               p->ca_file, strerror(errno));
}

/* ---- what the plug-in is given */

bool options_refused(const struct opening *o, const struct conf_type *t,
                     const char *key)
{
    size_t n = t ? strlen(t->fact.name) : 0;

    for (uint32_t i = 0; i < o->refused.n; i++) {
        const char *of = o->refused.v[i];

        if (t && strncmp(of, t->fact.name, n) != 0)
            continue;
        if (!key ? !of[n]
            : !t ? strcmp(of, key) == 0
                 : of[n] == '.' && strcmp(of + n + 1, key) == 0)
            return true;
    }
    return false;
}

const struct conf_pair *options_kept(struct opening *o,
                                     const struct conf_type *t,
                                     const struct conf_pair *v,
                                     uint32_t *inout_n)
{
    struct conf_pair *kept = ARENA_ARRAY(&o->arena, struct conf_pair, *inout_n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < *inout_n; i++)
        if (!options_refused(o, t, v[i].key) && (t || !is_hosts(o, v[i].key)))
            kept[n++] = v[i];
    *inout_n = n;
    return kept;
}

const struct conf_pair *options_own(struct opening *o, uint32_t *ret_n)
{
    *ret_n = o->conf->n_options;
    return options_kept(o, NULL, o->conf->options, ret_n);
}

/* ---- where a setting is */

const char *options_place(const struct opening *o, const char *code,
                          uint32_t *line, uint32_t *column)
{
    const struct config *c = o->config;
    *line = o->conf->line;
    *column = o->conf->column;
    for (uint32_t i = 0; i < o->conf->n_options; i++)
        if (strcmp(o->conf->options[i].key, code) == 0) {
            *line = o->conf->options[i].line;
            *column = o->conf->options[i].column;
            return code;
        }
    for (uint32_t i = 0; i < c->n_types; i++) {
        const struct conf_type *t = &c->types[i];
        size_t len = strlen(t->fact.name);
        if (!opening_has_type(o, i) || strncmp(code, t->fact.name, len) != 0 ||
            (code[len] != '.' && code[len] != '\0'))
            continue;
        *line = t->line;
        *column = t->column;
        for (uint32_t k = 0; code[len] == '.' && k < t->n_options; k++)
            if (strcmp(t->options[k].key, code + len + 1) == 0) {
                *line = t->options[k].line;
                *column = t->options[k].column;
                return code;
            }
        return t->fact.name;
    }
    return NULL;
}
