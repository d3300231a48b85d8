/*
 * diag.c - see diag.h.
 */
#include "diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yaml.h"

/* A file with more mistakes than this is not a configuration. */
enum { MOST_LINES = 100, LONGEST = 400, QUOTED = 72 };

static const char *text_of(struct arena *arena, const char *fmt, va_list ap)
{
    char text[LONGEST + 400];
    int n = vsnprintf(text, sizeof text, fmt, ap);

    if (n < 0)
        return "";
    for (char *p = text; *p; p++) /* a key of the user's may hold anything */
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = '?';
    return arena_strdup(arena, text);
}

void diag_add_at(struct diag *d, uint32_t line, uint32_t column,
                 const char *fmt, ...)
{
    struct diag_line l = {
        .line = line, .column = column, .order = d->mistakes.n};
    va_list ap;

    va_start(ap, fmt);
    l.text = text_of(d->arena, fmt, ap);
    va_end(ap);
    VEC_PUSH(d->arena, &d->mistakes, l);
}

void diag_add(struct diag *d, const struct ynode *at, const char *fmt, ...)
{
    struct diag_line l = {.line = at ? at->line : 0,
                          .column = at ? at->column : 0,
                          .order = d->mistakes.n};
    va_list ap;

    va_start(ap, fmt);
    l.text = text_of(d->arena, fmt, ap);
    va_end(ap);
    VEC_PUSH(d->arena, &d->mistakes, l);
}

void diag_warn(struct diag *d, const struct ynode *at, const char *fmt, ...)
{
    struct diag_line l = {.line = at ? at->line : 0,
                          .column = at ? at->column : 0,
                          .order = d->warnings.n};
    va_list ap;

    va_start(ap, fmt);
    l.text = text_of(d->arena, fmt, ap);
    va_end(ap);
    VEC_PUSH(d->arena, &d->warnings, l);
}

static int line_order(const void *a, const void *b)
{
    const struct diag_line *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Said before at the same place?  (An anchor's content is met again through
 * each alias.) */
static bool repeated(const struct diag_line *v, uint32_t i)
{
    for (uint32_t j = i;
         j-- > 0 && v[j].line == v[i].line && v[j].column == v[i].column;)
        if (strcmp(v[j].text, v[i].text) == 0)
            return true;
    return false;
}

void diag_write(struct diag *d, struct buf *errors)
{
    uint32_t written = 0;

    if (d->mistakes.n)
        qsort(d->mistakes.v, d->mistakes.n, sizeof *d->mistakes.v, line_order);
    for (uint32_t i = 0; i < d->mistakes.n; i++) {
        const struct diag_line *l = &d->mistakes.v[i];
        if (repeated(d->mistakes.v, i))
            continue;
        if (written++ == MOST_LINES) {
            buf_printf(errors, "%s: and %u more\n", d->path, d->mistakes.n - i);
            return;
        }
        if (l->line)
            buf_printf(errors, "%s:%u:%u: %s\n", d->path, l->line, l->column,
                       l->text);
        else
            buf_printf(errors, "%s: %s\n", d->path, l->text);
    }
}

const char *const *diag_warnings(struct diag *d, uint32_t *ret_n)
{
    const char **v = ARENA_ARRAY(d->arena, const char *, d->warnings.n);
    uint32_t n = 0;

    if (d->warnings.n)
        qsort(d->warnings.v, d->warnings.n, sizeof *d->warnings.v, line_order);
    for (uint32_t i = 0; i < d->warnings.n && n < MOST_LINES; i++) {
        const struct diag_line *l = &d->warnings.v[i];
        if (repeated(d->warnings.v, i))
            continue;
        v[n++] = l->line ? arena_printf(d->arena, "%s:%u:%u: %s", d->path,
                                        l->line, l->column, l->text)
                         : arena_printf(d->arena, "%s: %s", d->path, l->text);
    }
    *ret_n = n;
    return v;
}

const char *diag_quote(struct arena *arena, const char *text)
{
    char out[QUOTED + 16];
    size_t n = 0;

    out[n++] = '"';
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        /* Cut before a character, never inside one. */
        if (n > QUOTED && (c & 0xC0) != 0x80) {
            memcpy(out + n, "...", 3);
            n += 3;
            break;
        }
        if (c == '\n' || c == '\t' || c == '\r') {
            out[n++] = '\\';
            out[n++] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
        } else if (c < 0x20 || c == 0x7F) {
            n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
        } else {
            out[n++] = (char)c;
        }
    }
    out[n++] = '"';
    return arena_strndup(arena, out, n);
}
