/*
 * ynode.c - finding values in a tree of YAML; see yaml.h.
 */
#include "yaml.h"

#include <stdarg.h>
#include <string.h>

const struct ynode *ynode_get(const struct ynode *map, const char *key)
{
    if (!map || map->kind != YNODE_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->n; i++)
        if (strcmp(map->pairs[i].key->text, key) == 0)
            return map->pairs[i].value;
    return NULL;
}

const struct ynode *ynode_map(const struct ynode *v)
{
    return v && v->kind == YNODE_MAP ? v : NULL;
}

const struct ynode *ynode_path(const struct ynode *map, ...)
{
    const char *key;
    va_list ap;

    va_start(ap, map);
    while (map && (key = va_arg(ap, const char *)))
        map = ynode_get(map, key);
    va_end(ap);
    return map;
}

const char *ynode_shown(struct arena *arena, const struct ynode *v)
{
    switch (v->kind) {
    case YNODE_NULL: return "nothing";
    case YNODE_LIST: return "a list";
    case YNODE_MAP: return "a mapping";
    case YNODE_TEXT: break;
    }
    if (!v->quoted && strlen(v->text) <= 40 &&
        strspn(v->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._+-/:") == strlen(v->text))
        return v->text;
    return diag_quote(arena, v->text);
}
