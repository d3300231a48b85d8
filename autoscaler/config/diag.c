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

static void line_add(struct diag *d, struct diag_lines *to, uint32_t line,
                     uint32_t column, const char *fmt, va_list ap)
{
    struct diag_line l = {.line = line, .column = column, .order = to->n};
    char text[LONGEST + 400];

    vsnprintf(text, sizeof text, fmt, ap);
    for (char *p = text; *p; p++) /* a key of the user's may hold anything */
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = '?';
    l.text = arena_strdup(d->arena, text);
    VEC_PUSH(d->arena, to, l);
}

void diag_add_at(struct diag *d, uint32_t line, uint32_t column,
                 const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line_add(d, &d->mistakes, line, column, fmt, ap);
    va_end(ap);
}

void diag_add(struct diag *d, const struct ynode *at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line_add(d, &d->mistakes, at ? at->line : 0, at ? at->column : 0, fmt, ap);
    va_end(ap);
}

void diag_warn(struct diag *d, const struct ynode *at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line_add(d, &d->warnings, at ? at->line : 0, at ? at->column : 0, fmt, ap);
    va_end(ap);
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

/* Was it reported before at the same place?  (The content of an anchor is met
 * again through each alias.) */
static bool repeated(const struct diag_line *v, uint32_t i)
{
    for (uint32_t j = i;
         j-- > 0 && v[j].line == v[i].line && v[j].column == v[i].column;)
        if (strcmp(v[j].text, v[i].text) == 0)
            return true;
    return false;
}

static void lines_sort(struct diag_lines *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof *l->v, line_order);
}

static const char *line_text(const struct diag *d, const struct diag_line *l)
{
    return l->line ? arena_printf(d->arena, "%s:%u:%u: %s", d->path, l->line,
                                  l->column, l->text)
                   : arena_printf(d->arena, "%s: %s", d->path, l->text);
}

void diag_write(struct diag *d, struct buf *errors)
{
    uint32_t written = 0;

    lines_sort(&d->mistakes);
    for (uint32_t i = 0; i < d->mistakes.n; i++) {
        if (repeated(d->mistakes.v, i))
            continue;
        if (written++ == MOST_LINES) {
            buf_printf(errors, "%s: and %u more\n", d->path, d->mistakes.n - i);
            return;
        }
        buf_printf(errors, "%s\n", line_text(d, &d->mistakes.v[i]));
    }
}

const char *const *diag_warnings(struct diag *d, uint32_t *ret_n)
{
    const char **v = ARENA_ARRAY(d->arena, const char *, d->warnings.n);
    uint32_t n = 0;

    lines_sort(&d->warnings);
    for (uint32_t i = 0; i < d->warnings.n && n < MOST_LINES; i++)
        if (!repeated(d->warnings.v, i))
            v[n++] = line_text(d, &d->warnings.v[i]);
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
