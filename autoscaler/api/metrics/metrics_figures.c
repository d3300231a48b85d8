/*
 * metrics_figures.c - counters and histograms with labels (figures.h).
 */
#include <stdio.h>
#include <string.h>

#include "metrics.h"

/* {a="x",b="y" with the series' labels; false: it has none. */
static bool labels_open(struct buf *b, const struct figure_about *f,
                        const struct figure_series *s)
{
    uint32_t n = 0;

    for (; n < FIGURE_LABELS && f->label[n]; n++) {
        buf_str(b, n ? "," : "{");
        metric_label(b, f->label[n], s->label[n]);
    }
    return n > 0;
}

/* name_suffix{labels} value */
static void line(struct buf *b, const struct figure_about *f,
                 const struct figure_series *s, const char *suffix,
                 const char *value)
{
    buf_printf(b, "%s%s", f->name, suffix);
    buf_printf(b, "%s %s\n", labels_open(b, f, s) ? "}" : "", value);
}

static void histogram(struct buf *b, const struct figure_about *f,
                      const struct figure_series *s)
{
    uint64_t n = 0;
    char text[32];

    for (uint32_t i = 0; i <= f->n_bounds; i++) {
        n += s->bucket[i];
        buf_printf(b, "%s_bucket", f->name);
        buf_str(b, labels_open(b, f, s) ? "," : "{");
        buf_printf(b, "le=\"%s\"} %ju\n",
                   i == f->n_bounds ? "+Inf"
                                    : out_decimal(f->bounds[i], 1000000, text),
                   (uintmax_t)n);
    }
    line(b, f, s, "_sum", out_decimal(s->sum, 1000000, text));
    snprintf(text, sizeof text, "%ju", (uintmax_t)n);
    line(b, f, s, "_count", text);
}

static void counter(struct buf *b, const struct figure_about *f,
                    const struct figure_series *s)
{
    char text[32];

    if (f->dollars)
        out_decimal(s->sum, 1000000000, text);
    else
        snprintf(text, sizeof text, "%ju", (uintmax_t)s->n);
    line(b, f, s, "", text);
}

void metrics_figures(struct buf *b, struct arena *a, struct metrics *m)
{
    for (uint32_t i = 0; i < FIGURE_COUNT; i++) {
        const struct figure_about *f = figure_about((enum figure)i);
        const struct figure_series *v;
        uint32_t n = figures_take(&m->figures, (enum figure)i, a, &v);

        metric_head(b, f->name, f->bounds ? "histogram" : "counter", f->help);
        for (uint32_t k = 0; k < n; k++)
            (f->bounds ? histogram : counter)(b, f, &v[k]);
    }
}
