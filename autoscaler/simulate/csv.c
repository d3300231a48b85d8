/*
 * csv.c - see csv.h.
 */
#include "csv.h"

#include <stdio.h>
#include <string.h>

enum status csv_wrong(struct csv *c, const struct csv_cell *at, const char *fmt,
                      ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_printf(c->errors, "%s:%u:%u: %s\n", c->path, at->line, at->column,
               text);
    c->mistakes++;
    return ST_INVALID;
}

/* ---- one field */

static bool ends(char x)
{
    return x == '\0' || x == ',' || x == '\n' || x == '\r';
}

/* Behind the opening quote; false: it is never closed. */
static bool quoted(struct csv *c, const char **ret)
{
    char out[4096];
    size_t n = 0;

    for (c->at++; *c->at && n < sizeof out; c->at++) {
        if (*c->at == '"' && c->at[1] != '"')
            break;
        c->at += *c->at == '"';
        c->line += *c->at == '\n';
        out[n++] = *c->at;
    }
    *ret = arena_strndup(c->arena, out, n);
    if (*c->at != '"')
        return false;
    c->at++;
    return ends(*c->at);
}

static bool field(struct csv *c, const char *line_begin, struct csv_cell *ret)
{
    const char *from = c->at;

    ret->line = c->line;
    ret->column = (uint32_t)(from - line_begin) + 1;
    if (*from == '"') {
        if (quoted(c, &ret->text))
            return true;
        csv_wrong(c, ret, "a field in quotes does not end with one");
        return false;
    }
    while (!ends(*c->at))
        c->at++;
    ret->text = arena_strndup(c->arena, from, (size_t)(c->at - from));
    return true;
}

/* ---- one line */

static void line_end(struct csv *c)
{
    if (*c->at == '\r')
        c->at++;
    if (*c->at == '\n')
        c->at++;
    c->line++;
}

/* How many fields; 0: there is no more, or it is wrong. */
static uint32_t fields(struct csv *c, struct csv_cell *cells)
{
    const char *begin;
    uint32_t n = 0;

    while (*c->at == '\n' || *c->at == '\r')
        line_end(c);
    if (!*c->at)
        return 0;
    for (begin = c->at;; c->at++) {
        struct csv_cell extra;

        if (!field(c, begin, n < CSV_COLUMNS ? &cells[n] : &extra))
            return 0;
        n++;
        if (*c->at != ',')
            break;
    }
    line_end(c);
    return n;
}

enum status csv_open(struct csv *c, const char *path, const char *text,
                     struct arena *arena, struct buf *errors)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct csv_cell begin = {"", 1, 1};

    *c = (struct csv){
        .path = path, .arena = arena, .errors = errors, .at = text, .line = 1};
    if (strncmp(text, mark, 3) == 0)
        c->at += 3; /* of editors that say it is UTF-8 */
    c->n = fields(c, c->heading);
    if (c->mistakes)
        return ST_INVALID;
    if (c->n == 0)
        return csv_wrong(c, &begin, "the file is empty");
    if (c->n > CSV_COLUMNS)
        return csv_wrong(c, &begin, "%u columns, at most %d are allowed", c->n,
                         CSV_COLUMNS);
    return ST_OK;
}

bool csv_row(struct csv *c, struct csv_cell *cells)
{
    uint32_t n;

    while (c->mistakes < CSV_MISTAKES && (n = fields(c, cells)) > 0) {
        if (n == c->n)
            return true;
        csv_wrong(c, &cells[0], "%u fields, the heading has %u", n, c->n);
    }
    return false;
}

int csv_find(const struct csv *c, const char *name)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->heading[i].text, name) == 0)
            return (int)i;
    return -1;
}
