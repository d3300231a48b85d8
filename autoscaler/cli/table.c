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

uint32_t table_print(const struct table *t, FILE *out, int indent)
{
    int widths[TABLE_COLUMNS] = {0};

    for (uint32_t r = 0; r < t->rows.n; r++)
        for (uint32_t i = 0; i < t->n_columns; i++)
            if (width(t->rows.v[r][i]) > widths[i])
                widths[i] = width(t->rows.v[r][i]);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        fprintf(out, "%*s%s", indent, "", colour(t->colours.v[r]));
        for (uint32_t i = 0; i < t->n_columns; i++) {
            const char *cell = t->rows.v[r][i];
            int pad = widths[i] - width(cell);
            bool last = i + 1 == t->n_columns;
            fprintf(out, "%*s%s%*s", t->right[i] ? pad : 0, "", cell,
                    t->right[i] || last ? 0 : pad, "");
            if (!last)
                fputs("  ", out);
        }
        fprintf(out, "%s\n", colour(PLAIN));
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
