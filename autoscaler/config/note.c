/*
 * note.c - the annotation davit.io/config in a manifest that is read as a file.
 *
 * `davit run --kuberay` reads the same annotation of the living RayCluster
 * (control/config_source_text.c).  A mistake is told at its line of the file
 * where the annotation is a literal block, else at the annotation.
 */
#include <string.h>

#include "raw.h"

#define NOTE "davit.io/config"
enum { LONGEST = 65536 };

/* The annotation's text with the lines and columns that it has in the file. */
static char *in_place(struct raw *d, const struct ynode *v, size_t *ret_n)
{
    const char *p = d->text, *end = d->text + d->n;
    struct arena *a = d->r.arena;
    size_t indent = 0, line = 1, lines = 1;
    char *to, *ret;

    for (; line <= v->line && p < end; p++)
        line += *p == '\n';
    while (p < end && *p == '\n') /* empty lines are part of the text */
        p++;
    for (; p < end && *p == ' '; p++)
        indent++;
    for (const char *s = v->text; *s; s++)
        lines += *s == '\n';
    ret = to = arena_alloc(a, v->line + strlen(v->text) + lines * indent + 1);
    memset(to, '\n', v->line);
    to += v->line;
    for (const char *s = v->text; *s;) {
        size_t n = strcspn(s, "\n");

        memset(to, ' ', indent);
        to += indent;
        memcpy(to, s, n);
        to += n;
        s += n;
        if (*s)
            *to++ = *s++;
    }
    *ret_n = (size_t)(to - ret);
    return ret;
}

static void place_all(struct ynode *v, const struct ynode *at)
{
    v->line = at->line;
    v->column = at->column;
    for (uint32_t i = 0; i < v->n && v->kind == YNODE_LIST; i++)
        place_all(v->items[i], at);
    for (uint32_t i = 0; i < v->n && v->kind == YNODE_MAP; i++) {
        place_all((struct ynode *)v->pairs[i].key, at);
        place_all((struct ynode *)v->pairs[i].value, at);
    }
}

/* The annotation as a mapping; NULL after a report, or when it is empty. */
static const struct ynode *mapping(struct raw *d, const struct ynode *v)
{
    struct diag own = {.arena = d->r.arena, .path = ""};
    struct diag *to = v->literal ? d->r.diag : &own;
    uint32_t before = to->mistakes.n;
    struct yaml_docs docs;
    const char *text = v->text;
    size_t n = strlen(text);

    if (v->literal)
        text = in_place(d, v, &n);
    yaml_read(d->r.arena, text, n, to, &docs);
    for (uint32_t i = 0; i < own.mistakes.n; i++)
        diag_add(d->r.diag, v, "the annotation " NOTE ": %s",
                 own.mistakes.v[i].text);
    if (to->mistakes.n > before || !docs.n)
        return NULL;
    if (!v->literal)
        place_all(docs.v[0], v);
    if (docs.n == 1 && docs.v[0]->kind == YNODE_MAP)
        return docs.v[0];
    diag_add(
        d->r.diag, v,
        "the annotation " NOTE " must hold settings such as {limits: "
        "{idle_timeout: 5m}}, got %s",
        docs.n > 1 ? "several documents" : ynode_shown(d->r.arena, docs.v[0]));
    return NULL;
}

/* over goes over under, key by key, all the way down. */
static const struct ynode *merged(struct arena *a, const struct ynode *under,
                                  const struct ynode *over)
{
    struct ynode *v;
    struct ypair *pairs;

    if (!under || !over || under->kind != YNODE_MAP || over->kind != YNODE_MAP)
        return over ? over : under;
    v = ARENA_NEW(a, struct ynode);
    pairs = ARENA_ARRAY(a, struct ypair, under->n + over->n);
    *v = *over;
    memcpy(pairs, over->pairs, over->n * sizeof *pairs);
    for (uint32_t i = 0; i < over->n; i++)
        pairs[i].value = merged(a, ynode_get(under, pairs[i].key->text),
                                pairs[i].value);
    for (uint32_t i = 0; i < under->n; i++)
        if (!ynode_get(over, under->pairs[i].key->text))
            pairs[v->n++] = under->pairs[i];
    v->pairs = pairs;
    return v;
}

/* Without the keys that it may not hold, which are reported. */
static const struct ynode *allowed_of(struct raw *d, const struct ynode *note)
{
    static const char *const words[] = {"limits", "queues"};
    struct ynode *v = ARENA_NEW(d->r.arena, struct ynode);
    struct ypair *pairs = ARENA_ARRAY(d->r.arena, struct ypair, note->n);

    *v = *note;
    v->n = 0;
    v->pairs = pairs;
    for (uint32_t i = 0; i < note->n; i++) {
        const struct ynode *key = note->pairs[i].key;

        if (strcmp(key->text, words[0]) == 0 ||
            strcmp(key->text, words[1]) == 0)
            pairs[v->n++] = note->pairs[i];
        else
            diag_add(d->r.diag, key,
                     "the annotation " NOTE " may hold limits and queues only, "
                     "got %s%s",
                     diag_quote(d->r.arena, key->text),
                     grammar_hint(d->r.arena, key->text, words, 2));
    }
    return v;
}

const struct ynode *note_read(struct raw *d, const struct ynode *object,
                              const struct ynode *block)
{
    const struct ynode *v = ynode_path(object, "metadata", "annotations", NOTE,
                                       NULL);
    const struct ynode *note;

    if (!v || v->kind == YNODE_NULL)
        return block;
    if (v->kind != YNODE_TEXT || strlen(v->text) > LONGEST) {
        diag_add(d->r.diag, v,
                 "the annotation " NOTE " must be text of at most %d bytes, "
                 "got %s",
                 LONGEST,
                 v->kind == YNODE_TEXT ? "more" : ynode_shown(d->r.arena, v));
        return block;
    }
    note = mapping(d, v);
    return note ? merged(d->r.arena, allowed_of(d, note), block) : block;
}
