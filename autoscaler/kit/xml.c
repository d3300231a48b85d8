/*
 * xml.c - see xml.h.  Nodes and text lie in blocks that are freed together; one
 * pass, no copy is moved.
 */
#include "xml.h"

#include <expat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#ifdef XML_ATTR_DEPRECATED /* expat 2.9, of Debian 13's security updates */
#define line_number XML_GetCurrentLineNumber64
#else
#define line_number XML_GetCurrentLineNumber
#endif

#define BLOCK ((size_t)64 << 10)

struct block {
    struct block *next;
    char bytes[];
};

struct open {
    struct xml *node;
    struct xml *last;
    size_t text_from;
};

struct xml_doc {
    struct block *blocks;
    size_t used, room; /* of the newest block */
    struct xml *root;
    struct open stack[XML_DEPTH_MAX];
    size_t depth, nodes;
    char *text; /* of the open elements, as they come */
    size_t text_n, text_cap;
    XML_Parser parser;
    const char *problem;
    const char *last_name;      /* names repeat: often the same copy will do */
    const char *const *without; /* names, or NULL */
    size_t skipped;             /* open elements that are left out */
};

static void *take(struct xml_doc *d, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (d->used + n > d->room) {
        size_t size = n > BLOCK ? n : BLOCK;
        struct block *b = kit_alloc(sizeof *b + size);
        b->next = d->blocks;
        d->blocks = b;
        d->used = 0;
        d->room = size;
    }
    void *p = d->blocks->bytes + d->used;
    d->used += n;
    return p;
}

static const char *copied(struct xml_doc *d, const char *text, size_t n)
{
    char *p = take(d, n + 1);
    if (n > 0)
        memcpy(p, text, n);
    p[n] = '\0';
    return p;
}

static void stop(struct xml_doc *d, const char *problem)
{
    d->problem = problem;
    XML_StopParser(d->parser, XML_FALSE);
}

/* Most names differ in their first letter: asked a million times a reply. */
static inline bool same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

static bool left_out(const struct xml_doc *d, const char *name)
{
    for (const char *const *w = d->without; w && *w; w++)
        if (same(*w, name))
            return true;
    return false;
}

static void XMLCALL on_start(void *arg, const XML_Char *name,
                             const XML_Char **attributes)
{
    struct xml_doc *d = arg;
    (void)attributes;
    if (d->problem)
        return;
    if (d->depth + d->skipped == XML_DEPTH_MAX || ++d->nodes > XML_NODES_MAX) {
        stop(d, "it nests too deep or has too many elements");
        return;
    }
    const char *colon = strrchr(name, ':');
    if (colon)
        name = colon + 1;
    if (d->skipped > 0 || (d->depth > 0 && left_out(d, name))) {
        d->skipped++;
        if (d->depth > 0 && d->skipped == 1)
            d->text_n = d->stack[d->depth - 1].text_from;
        return;
    }
    if (!d->last_name || strcmp(d->last_name, name) != 0)
        d->last_name = copied(d, name, strlen(name));
    struct xml *x = take(d, sizeof *x);
    *x = (struct xml){.name = d->last_name, .text = ""};
    if (d->depth == 0) {
        d->root = x;
    } else {
        struct open *up = &d->stack[d->depth - 1];
        if (!up->last)
            up->node->first = x;
        else
            up->last->next = x;
        up->last = x;
        /* Text beside children is layout. */
        d->text_n = up->text_from;
    }
    d->stack[d->depth++] = (struct open){x, NULL, d->text_n};
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
    struct xml_doc *d = arg;
    (void)name;
    if (d->problem)
        return;
    if (d->skipped > 0) {
        d->skipped--;
        return;
    }
    struct open *o = &d->stack[--d->depth];
    if (!o->last && d->text_n > o->text_from)
        o->node->text = copied(d, d->text + o->text_from,
                               d->text_n - o->text_from);
    d->text_n = o->text_from;
}

static void XMLCALL on_text(void *arg, const XML_Char *text, int n)
{
    struct xml_doc *d = arg;
    size_t len = (size_t)n;
    if (d->problem || d->skipped > 0)
        return;
    if (d->text_n + len > d->text_cap) {
        d->text_cap = (d->text_n + len) * 2 + 256;
        d->text = kit_resize(d->text, d->text_cap, 1);
    }
    memcpy(d->text + d->text_n, text, len);
    d->text_n += len;
}

static void XMLCALL on_doctype(void *arg, const XML_Char *name,
                               const XML_Char *system, const XML_Char *public,
                               int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    stop(arg, "it has a DOCTYPE");
}

const struct xml *xml_parse(const char *text, size_t n, struct xml_doc **ret,
                            char *why, size_t why_size)
{
    return xml_parse_without(text, n, NULL, ret, why, why_size);
}

const struct xml *xml_parse_without(const char *text, size_t n,
                                    const char *const *names,
                                    struct xml_doc **ret, char *why,
                                    size_t why_size)
{
    struct xml_doc *d = kit_zeroed(1, sizeof *d);
    *ret = d;
    d->without = names;
    d->parser = kit_must(XML_ParserCreate(NULL));
    XML_SetUserData(d->parser, d);
    XML_SetElementHandler(d->parser, on_start, on_end);
    XML_SetCharacterDataHandler(d->parser, on_text);
    XML_SetStartDoctypeDeclHandler(d->parser, on_doctype);
    enum XML_Status s = n > (size_t)1 << 30
                            ? XML_STATUS_ERROR
                            : XML_Parse(d->parser, text, (int)n, 1);
    if (s != XML_STATUS_OK && !d->problem)
        d->problem = XML_ErrorString(XML_GetErrorCode(d->parser));
    if (d->problem) {
        snprintf(why, why_size, "line %lu: %s",
                 (unsigned long)line_number(d->parser), d->problem);
        d->root = NULL;
    }
    XML_ParserFree(d->parser);
    d->parser = NULL;
    return d->root;
}

const struct xml *xml_root(const struct xml_doc *doc)
{
    return doc ? doc->root : NULL;
}

void xml_free(struct xml_doc *d)
{
    if (!d)
        return;
    for (struct block *b = d->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(d->text);
    free(d);
}

const struct xml *xml_child(const struct xml *x, const char *name)
{
    for (x = x ? x->first : NULL; x; x = x->next)
        if (same(x->name, name))
            return x;
    return NULL;
}

const struct xml *xml_again(const struct xml *x)
{
    const char *name = x ? x->name : "";
    for (x = x ? x->next : NULL; x; x = x->next)
        if (same(x->name, name))
            return x;
    return NULL;
}

const struct xml *xml_at(const struct xml *x, const char *path)
{
    while (x && *path != '\0') {
        size_t n = strcspn(path, "/");
        x = x->first;
        while (x && (x->name[0] != path[0] || strncmp(x->name, path, n) != 0 ||
                     x->name[n] != '\0'))
            x = x->next;
        path += n + (path[n] == '/');
    }
    return x;
}

const char *xml_text(const struct xml *x, const char *path)
{
    x = xml_at(x, path);
    return x ? x->text : "";
}

int64_t xml_number(const struct xml *x, const char *path, int64_t other)
{
    const char *text = xml_text(x, path);
    char *end;
    long long v = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' ? v : other;
}
