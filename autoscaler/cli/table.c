/*
 * table.c - see table.h.
 */
#include "table.h"

#include <string.h>

#include "../base/text.h"

/* Columns on the screen: a UTF-8 sequence counts one. */
static int width(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* As it will be shown, for the width of its column. */
static const char *shown(struct arena *a, const char *s)
{
    size_t left = strlen(s), n = 0;
    char *out = arena_alloc(a, left * 6 + 1);

    while (left) {
        size_t len = text_plain(s, left);
        char escape[8];

        if (len) {
            memcpy(out + n, s, len);
            n += len;
        } else {
            len = text_escape(s, left, escape);
            memcpy(out + n, escape, strlen(escape));
            n += strlen(escape);
        }
        s += len;
        left -= len;
    }
    out[n] = '\0';
    return out;
}

void table_init(struct table *t, struct arena *a, const char *const *headings)
{
    const char *row[TABLE_COLUMNS];

    *t = (struct table){.arena = a};
    for (; headings[t->n_columns] && t->n_columns < TABLE_COLUMNS;
         t->n_columns++) {
        const char *h = headings[t->n_columns];
        t->right[t->n_columns] = *h == '>';
        row[t->n_columns] = h + (*h == '>');
    }
    table_row(t, DIM, row);
}

void table_row(struct table *t, enum colour c, const char *const *cells)
{
    const char **row = ARENA_ARRAY(t->arena, const char *, t->n_columns);

    for (uint32_t i = 0; i < t->n_columns; i++)
        row[i] = shown(t->arena, cells[i]);
    VEC_PUSH(t->arena, &t->rows, row);
    VEC_PUSH(t->arena, &t->colours, c);
}

/* A cell in so many columns; "…" stands for what is cut off. */
static const char *fitted(struct arena *a, const char *cell, int room)
{
    size_t n = strlen(cell);

    if (width(cell) <= room || room < 2)
        return cell;
    return arena_printf(a, "%.*s\u2026",
                        (int)terminal_cut(cell, n, (unsigned)room - 1), cell);
}

/* One row as a line, without its end. */
static const char *line_of(const struct table *t, uint32_t r, const int *widths,
                           int indent)
{
    const char *line = arena_printf(t->arena, "%*s", indent, "");

    for (uint32_t i = 0; i < t->n_columns; i++) {
        bool last = i + 1 == t->n_columns;
        const char *cell = fitted(t->arena, t->rows.v[r][i], widths[i]);
        int pad = widths[i] - width(cell);

        line = arena_printf(
            t->arena, "%s%*s%s%*s%s", line, t->right[i] ? pad : 0, "", cell,
            t->right[i] || last ? 0 : pad, "", last ? "" : "  ");
    }
    return line;
}

/* The last column gives way first, down to a few letters; then the line is cut. */
static void widths_fit(const struct table *t, int indent, int *widths)
{
    int room = (int)terminal_width(), all = indent, least = 12;
    int *last = &widths[t->n_columns - 1];

    for (uint32_t i = 0; i < t->n_columns; i++)
        all += widths[i] + (i ? 2 : 0);
    if (room && all > room && *last > least)
        *last = *last - (all - room) > least ? *last - (all - room) : least;
}

uint32_t table_print(const struct table *t, FILE *out, int indent)
{
    int widths[TABLE_COLUMNS] = {0};
    unsigned room = terminal_width();

    for (uint32_t r = 0; r < t->rows.n; r++)
        for (uint32_t i = 0; i < t->n_columns; i++)
            if (width(t->rows.v[r][i]) > widths[i])
                widths[i] = width(t->rows.v[r][i]);
    widths_fit(t, indent, widths);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        const char *line = line_of(t, r, widths, indent);
        size_t n = strlen(line);

        if (room)
            n = terminal_cut(line, n, room);
        fprintf(out, "%s%.*s%s\n", colour(t->colours.v[r]), (int)n, line,
                colour(PLAIN));
    }
    return t->rows.n;
}

char *span(struct arena *a, double seconds)
{
    long s = seconds > 0 ? (long)(seconds + 0.5) : 0;

    if (s < 60)
        return arena_printf(a, "%lds", s);
    if (s < 3600)
        return arena_printf(a, "%ldm%02lds", s / 60, s % 60);
    if (s < 86400)
        return arena_printf(a, "%ldh%02ldm", s / 3600, s / 60 % 60);
    return arena_printf(a, "%ldd%02ldh", s / 86400, s / 3600 % 24);
}
