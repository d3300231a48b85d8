/*
 * override.c - see override.h.
 *
 * Trees are shared by aliases, hence read only: the mappings on the way are
 * copied, all else stays shared.
 */
#include "override.h"

#include <string.h>

/* What was set stands in no line of the file. */
static struct ynode *text_node(struct arena *a, const char *text, size_t n)
{
    struct ynode *v = ARENA_NEW(a, struct ynode);

    *v = (struct ynode){
        .kind = YNODE_TEXT, .weight = 1, .text = arena_strndup(a, text, n)};
    return v;
}

/* Without its places, which are not of this file. */
static void placeless(struct arena *a, struct ynode *v)
{
    v->line = v->column = 0;
    for (uint32_t i = 0; i < v->n && v->kind == YNODE_LIST; i++)
        placeless(a, v->items[i]);
    for (uint32_t i = 0; i < v->n && v->kind == YNODE_MAP; i++) {
        placeless(a, (struct ynode *)v->pairs[i].key);
        placeless(a, (struct ynode *)v->pairs[i].value);
    }
}

static const struct ynode *value_read(struct arena *a,
                                      const struct conf_set *set,
                                      struct diag *d)
{
    struct diag own = {.arena = a, .path = set->path};
    struct yaml_docs docs;

    if (yaml_read(a, set->value, strlen(set->value), &own, &docs) != ST_OK ||
        docs.n > 1) {
        diag_add(d, NULL, "%s: %s is no value in YAML", set->path,
                 diag_quote(a, set->value));
        return NULL;
    }
    if (docs.n == 0)
        return text_node(a, "", 0);
    placeless(a, docs.v[0]);
    return docs.v[0];
}

/* The mapping with this key's value replaced, or with one key more. */
static struct ynode *with(struct arena *a, const struct ynode *map,
                          const char *key, size_t n, const struct ynode *value)
{
    struct ynode *v = ARENA_NEW(a, struct ynode);
    struct ypair *pairs = ARENA_ARRAY(a, struct ypair, map->n + 1);
    uint32_t at = 0;

    *v = *map;
    v->kind = YNODE_MAP;
    for (; at < map->n; at++) {
        pairs[at] = map->pairs[at];
        if (strncmp(pairs[at].key->text, key, n) == 0 &&
            !pairs[at].key->text[n])
            break;
    }
    for (uint32_t i = at + 1; i < map->n; i++)
        pairs[i] = map->pairs[i];
    if (at == map->n) {
        pairs[at].key = text_node(a, key, n);
        v->n++;
    }
    pairs[at].value = value;
    v->pairs = pairs;
    return v;
}

static const struct ynode *below(const struct ynode *map, const char *key,
                                 size_t n)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (strncmp(map->pairs[i].key->text, key, n) == 0 &&
            !map->pairs[i].key->text[n])
            return map->pairs[i].value;
    return NULL;
}

/* NULL: the path leads through something that is no mapping. */
static const struct ynode *replaced(struct arena *a, const struct ynode *at,
                                    const char *path, const struct ynode *value)
{
    static const struct ynode nothing = {.kind = YNODE_MAP, .text = ""};
    size_t n = strcspn(path, ".");

    if (!at || at->kind == YNODE_NULL)
        at = &nothing;
    if (at->kind != YNODE_MAP || n == 0)
        return NULL;
    if (path[n])
        value = replaced(a, below(at, path, n), path + n + 1, value);
    return value ? with(a, at, path, n, value) : NULL;
}

void override_apply(struct arena *a, struct yaml_docs *docs,
                    const struct conf_set *sets, uint32_t n, struct diag *d)
{
    struct ynode **v = ARENA_ARRAY(a, struct ynode *, docs->n);

    memcpy(v, docs->v, docs->n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        const struct ynode *value = value_read(a, &sets[i], d);
        const struct ynode *root = value
                                       ? replaced(a, v[0], sets[i].path, value)
                                       : v[0];

        if (root)
            v[0] = (struct ynode *)root;
        else
            diag_add(d, NULL,
                     "%s: there is no such setting: keys with points between "
                     "them, such as limits.idle_timeout",
                     sets[i].path);
    }
    docs->v = v;
}
