/*
 * yaml.c - see yaml.h.
 *
 * Recursion follows the document's depth, which has a ceiling; libyaml is
 * stopped at the first node past any of them, so hostile text costs no more
 * than what was read of it.
 */
#include "yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "../base/alloc.h"

struct anchor {
    const char *name;
    struct ynode *node; /* NULL while it is being read: no cycles */
};

struct reading {
    struct arena *arena;
    struct diag *diag;
    yaml_parser_t parser;
    const char *text;
    size_t n;
    uint32_t nodes; /* made and aliased so far */
    bool failed;    /* stop: the first structural mistake is reported */
    VEC(struct anchor) anchors;
};

static void fail_at(struct reading *r, yaml_mark_t mark, const char *what)
{
    if (!r->failed)
        diag_add_at(r->diag, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1,
                    "%s", what);
    r->failed = true;
}

/* libyaml's reader knows a byte offset only. */
static yaml_mark_t mark_of_offset(const struct reading *r, size_t offset)
{
    yaml_mark_t m = {0, 0, 0};

    for (size_t i = 0; i < offset && i < r->n; i++) {
        if (r->text[i] == '\n') {
            m.line++;
            m.column = 0;
        } else if (((unsigned char)r->text[i] & 0xC0) != 0x80) {
            m.column++;
        }
    }
    return m;
}

static void fail_syntax(struct reading *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "unreadable";
    yaml_mark_t at = p->problem_mark;
    const char *hint = "";

    if (p->error == YAML_READER_ERROR)
        at = mark_of_offset(r, p->problem_offset);
    if (strcmp(problem, "found character that cannot start any token") == 0)
        hint = " (a tab? YAML is indented with spaces; text that starts with % "
               "@ or ` needs quotes)";
    else if (strcmp(problem,
                    "mapping values are not allowed in this context") == 0)
        hint = " (a colon too many, or a wrong indentation?)";
    if (p->context && p->context_mark.line != at.line)
        fail_at(
            r, at,
            arena_printf(r->arena, "not YAML: %s, %s that starts on line %u%s",
                         problem, p->context,
                         (unsigned)p->context_mark.line + 1, hint));
    else
        fail_at(r, at,
                arena_printf(r->arena, "not YAML: %s%s%s%s", problem,
                             p->context ? ", " : "",
                             p->context ? p->context : "", hint));
}

static bool next(struct reading *r, yaml_event_t *ret)
{
    if (r->failed)
        return false;
    if (!yaml_parser_parse(&r->parser, ret)) {
        fail_syntax(r);
        return false;
    }
    return true;
}

static void node_count(struct reading *r, yaml_mark_t at, uint32_t n)
{
    if (n > YAML_MAX_NODES - r->nodes) {
        fail_at(r, at,
                arena_printf(r->arena,
                             "too large: more than %u values, aliases counted "
                             "as what they stand for",
                             YAML_MAX_NODES));
        return;
    }
    r->nodes += n;
}

static struct ynode *node_new(struct reading *r, enum ynode_kind kind,
                              yaml_mark_t at)
{
    struct ynode *v = ARENA_NEW(r->arena, struct ynode);

    v->kind = kind;
    v->line = (uint32_t)at.line + 1;
    v->column = (uint32_t)at.column + 1;
    v->weight = 1;
    v->text = "";
    node_count(r, at, 1);
    return v;
}

static bool is_null(const char *s)
{
    return !*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0 ||
           strcmp(s, "Null") == 0 || strcmp(s, "NULL") == 0;
}

static struct ynode *scalar_read(struct reading *r, const yaml_event_t *e)
{
    const char *s = (const char *)e->data.scalar.value;
    struct ynode *v = node_new(r, YNODE_TEXT, e->start_mark);
    const char *tag = (const char *)e->data.scalar.tag;

    if (memchr(s, 0, e->data.scalar.length)) {
        fail_at(r, e->start_mark, "text must not hold a NUL character");
        return v;
    }
    v->text = arena_strndup(r->arena, s, e->data.scalar.length);
    v->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
                (tag && strcmp(tag, YAML_STR_TAG) == 0);
    v->literal = e->data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
    if (!v->quoted && is_null(v->text))
        v->kind = YNODE_NULL;
    return v;
}

static uint32_t anchor_open(struct reading *r, const yaml_char_t *name)
{
    struct anchor a = {.name = name ? (const char *)name : NULL};

    if (!name)
        return UINT32_MAX;
    a.name = arena_strdup(r->arena, a.name);
    VEC_PUSH(r->arena, &r->anchors, a);
    return r->anchors.n - 1;
}

static struct ynode *alias_read(struct reading *r, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;

    for (uint32_t i = r->anchors.n; i-- > 0;) { /* the latest one counts */
        const struct anchor *a = &r->anchors.v[i];
        if (strcmp(a->name, name) != 0)
            continue;
        if (!a->node) {
            fail_at(
                r, e->start_mark,
                arena_printf(r->arena, "*%s lies inside of what it stands for",
                             name));
            return NULL;
        }
        node_count(r, e->start_mark, a->node->weight);
        return a->node;
    }
    fail_at(r, e->start_mark,
            arena_printf(r->arena,
                         "*%s stands for nothing: there is no &%s before it",
                         name, name));
    return NULL;
}

static struct ynode *node_read(struct reading *r, yaml_event_t *e,
                               unsigned depth);

static void list_read(struct reading *r, struct ynode *v, unsigned depth)
{
    VEC(struct ynode *) items = {0};
    yaml_event_t e;

    while (next(r, &e)) {
        struct ynode *item;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        if (!end && (item = node_read(r, &e, depth + 1))) {
            VEC_PUSH(r->arena, &items, item);
            v->weight += item->weight;
        }
        yaml_event_delete(&e);
        if (end)
            break;
    }
    v->items = items.v;
    v->n = items.n;
}

struct entries {
    struct ypair *v;
    uint32_t n, cap;
};

static int pair_order(const void *a, const void *b)
{
    const struct ypair *x = *(const struct ypair *const *)a;
    const struct ypair *y = *(const struct ypair *const *)b;
    int c = strcmp(x->key->text, y->key->text);

    return c ? c : x < y ? -1 : x > y;
}

static void duplicates_report(struct reading *r, const struct entries *p)
{
    const struct ypair **order = ARENA_ARRAY(r->arena, const struct ypair *,
                                             p->n);
    for (uint32_t i = 0; i < p->n; i++)
        order[i] = &p->v[i];
    if (p->n)
        qsort(order, p->n, sizeof *order, pair_order);
    for (uint32_t i = 1; i < p->n; i++)
        if (strcmp(order[i]->key->text, order[i - 1]->key->text) == 0)
            diag_add(r->diag, order[i]->key,
                     "key %s is given twice, first on line %u; keep one",
                     diag_quote(r->arena, order[i]->key->text),
                     order[i - 1]->key->line);
}

/* A << brings the keys that are not there yet; the first source wins. */
static void merge_one(struct reading *r, struct entries *p,
                      const struct ynode *key, const struct ynode *from)
{
    if (from->kind != YNODE_MAP) {
        diag_add(r->diag, key,
                 "<< takes a mapping or a list of mappings, got %s",
                 ynode_shown(r->arena, from));
        return;
    }
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t j = 0;
        while (j < p->n &&
               strcmp(p->v[j].key->text, from->pairs[i].key->text) != 0)
            j++;
        if (j < p->n)
            continue;
        if (p->n >= YAML_MAX_MERGED) {
            diag_add(r->diag, key, "<< makes a mapping of more than %u keys",
                     YAML_MAX_MERGED);
            return;
        }
        VEC_PUSH(r->arena, p, from->pairs[i]);
    }
}

static void merge(struct reading *r, struct entries *p,
                  const struct entries *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const struct ynode *key = from->v[i].key, *v = from->v[i].value;
        if (v->kind != YNODE_LIST)
            merge_one(r, p, key, v);
        else
            for (uint32_t j = 0; j < v->n; j++)
                merge_one(r, p, key, v->items[j]);
    }
}

static void map_read(struct reading *r, struct ynode *map, unsigned depth)
{
    struct entries own = {0}, merged = {0};
    yaml_event_t e;

    while (next(r, &e)) {
        struct ynode *key, *value;
        bool end = e.type == YAML_MAPPING_END_EVENT;
        yaml_mark_t at = e.start_mark;

        key = end ? NULL : node_read(r, &e, depth + 1);
        yaml_event_delete(&e);
        if (end || !key || !next(r, &e))
            break;
        value = node_read(r, &e, depth + 1);
        yaml_event_delete(&e);
        if (!value)
            break;
        map->weight += key->weight + value->weight;
        if (key->kind == YNODE_NULL) { /* "~:" and "null:" are names here */
            key = arena_copy(r->arena, key, sizeof *key);
            key->kind = YNODE_TEXT;
        }
        if (key->kind != YNODE_TEXT) {
            fail_at(r, at, "a key must be plain text");
            break;
        }
        if (!key->quoted && strcmp(key->text, "<<") == 0)
            VEC_PUSH(r->arena, &merged, ((struct ypair){key, value}));
        else
            VEC_PUSH(r->arena, &own, ((struct ypair){key, value}));
    }
    duplicates_report(r, &own);
    if (merged.n && own.n <= YAML_MAX_MERGED)
        merge(r, &own, &merged);
    else if (merged.n)
        diag_add(r->diag, merged.v[0].key,
                 "<< in a mapping of more than %u keys", YAML_MAX_MERGED);
    map->pairs = own.v;
    map->n = own.n;
    if (merged.n) { /* what came by << is walked again: it counts again */
        map->weight = 1;
        for (uint32_t i = 0; i < own.n; i++)
            map->weight += own.v[i].key->weight + own.v[i].value->weight;
    }
}

/* NULL only after a failure. */
static struct ynode *node_read(struct reading *r, yaml_event_t *e,
                               unsigned depth)
{
    struct ynode *v;
    uint32_t anchor;

    if (depth > YAML_MAX_DEPTH) {
        fail_at(r, e->start_mark,
                arena_printf(r->arena, "nested deeper than %u levels",
                             YAML_MAX_DEPTH));
        return NULL;
    }
    switch (e->type) {
    case YAML_ALIAS_EVENT: return alias_read(r, e);
    case YAML_SCALAR_EVENT:
        anchor = anchor_open(r, e->data.scalar.anchor);
        v = scalar_read(r, e);
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = anchor_open(r, e->data.sequence_start.anchor);
        v = node_new(r, YNODE_LIST, e->start_mark);
        list_read(r, v, depth);
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = anchor_open(r, e->data.mapping_start.anchor);
        v = node_new(r, YNODE_MAP, e->start_mark);
        map_read(r, v, depth);
        break;
    default:
        fail_at(r, e->start_mark, "not YAML: a value is missing");
        return NULL;
    }
    if (anchor != UINT32_MAX)
        r->anchors.v[anchor].node = v;
    return r->failed ? NULL : v;
}

static void docs_read(struct reading *r, struct yaml_docs *ret)
{
    VEC(struct ynode *) docs = {0};
    yaml_event_t e;
    bool end = false;

    while (!end && next(r, &e)) {
        end = e.type == YAML_STREAM_END_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT)
            r->anchors.n = 0;
        if (e.type != YAML_STREAM_START_EVENT && !end &&
            e.type != YAML_DOCUMENT_START_EVENT &&
            e.type != YAML_DOCUMENT_END_EVENT) {
            struct ynode *v = node_read(r, &e, 1);
            if (docs.n == YAML_MAX_DOCS)
                fail_at(
                    r, e.start_mark,
                    arena_printf(r->arena, "more than %u documents in one file",
                                 YAML_MAX_DOCS));
            else if (v && v->kind != YNODE_NULL)
                VEC_PUSH(r->arena, &docs, v);
        }
        yaml_event_delete(&e);
    }
    ret->v = docs.v;
    ret->n = docs.n;
}

enum status yaml_read(struct arena *arena, const char *text, size_t n,
                      struct diag *d, struct yaml_docs *ret)
{
    struct reading r = {.arena = arena, .diag = d};
    uint32_t before = d->mistakes.n;

    *ret = (struct yaml_docs){0};
    if (n > YAML_MAX_TEXT) {
        diag_add(d, NULL,
                 "%zu bytes are too much for a configuration; at most %u are "
                 "read",
                 n, YAML_MAX_TEXT);
        return ST_INVALID;
    }
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark; libyaml would count it as a column */
        n -= 3;
    }
    r.text = text;
    r.n = n;
    if (!yaml_parser_initialize(&r.parser))
        mem_out();
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    docs_read(&r, ret);
    yaml_parser_delete(&r.parser);
    return d->mistakes.n == before ? ST_OK : ST_INVALID;
}
