/*
 * svg.c - see svg.h.
 *
 * A panel for each column; in it three charts above one another, with one axis
 * of time.  Plain SVG 1.1, no scripts, colours that the colour-blind can part
 * (Okabe and Ito).
 */
#include "svg.h"

#include <stdio.h>
#include <string.h>

#include "../base/text.h"

enum {
    LEFT = 70,
    TOP = 46,
    WIDTH = 900,
    CHART = 130,
    GAP = 34,
    LEGEND = 150,
    PANEL = TOP + 3 * (CHART + GAP),
    TYPES = 8,
};

static const char *const colours[TYPES] = {"#0072b2", "#e69f00", "#009e73",
                                           "#cc79a7", "#56b4e9", "#d55e00",
                                           "#f0e442", "#666666"};

struct scale {
    int64_t ms;
    double machines, waiting, dollars;
};

struct drawing {
    struct buf *b;
    const struct outcome *o;
    struct scale most;
    const char *types[TYPES]; /* the last one is of all others */
    uint32_t n_types;
};

/* ---- text */

static void escaped(struct buf *b, const char *s)
{
    for (size_t n = strlen(s), len; n; s += len, n -= len) {
        size_t plain = text_plain(s, n); /* 0: not for a page */

        len = plain ? plain : 1;
        switch (*s) {
        case '&': buf_str(b, "&amp;"); break;
        case '<': buf_str(b, "&lt;"); break;
        case '>': buf_str(b, "&gt;"); break;
        case '"': buf_str(b, "&quot;"); break;
        default: buf_add(b, s, plain);
        }
    }
}

static void text_at(struct buf *b, double x, double y, const char *class,
                    const char *s)
{
    buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    escaped(b, s);
    buf_str(b, "</text>\n");
}

/* ---- scales */

/* The next of 1, 2, 5, 10, 20 ... */
static double rounded(double x)
{
    double step = 1;

    while (step < x) {
        if (2 * step >= x)
            return 2 * step;
        if (5 * step >= x)
            return 5 * step;
        step *= 10;
    }
    return step;
}

static double all_machines(const struct outcome *o, const struct out_sample *s)
{
    double n = 0;

    for (uint32_t i = 0; i < o->n_offers; i++)
        n += s->machines[i];
    return n;
}

static struct scale scale_of(const struct outcome *o, uint32_t n)
{
    struct scale m = {1, 1, 1, 1};

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < o[i].n_samples; k++) {
            const struct out_sample *s = &o[i].samples[k];
            double machines = all_machines(&o[i], s);
            double dollars = (double)s->cost_micros / 1e6;

            m.ms = s->at_ms > m.ms ? s->at_ms : m.ms;
            m.machines = machines > m.machines ? machines : m.machines;
            m.waiting = s->waiting > m.waiting ? s->waiting : m.waiting;
            m.dollars = dollars > m.dollars ? dollars : m.dollars;
        }
    m.machines = rounded(m.machines);
    m.waiting = rounded(m.waiting);
    m.dollars = rounded(m.dollars);
    return m;
}

static double x_of(const struct drawing *d, int64_t ms)
{
    return LEFT + (double)ms / (double)d->most.ms * WIDTH;
}

/* ---- a chart */

static void axis(struct drawing *d, double y, const char *title, double most)
{
    char text[40];

    buf_printf(d->b,
               "<path class=\"axis\" d=\"M%d %.1fh%dM%d %.1fh%dM%d "
               "%.1fh%d\"/>\n",
               LEFT, y, WIDTH, LEFT, y + CHART / 2.0, WIDTH, LEFT, y + CHART,
               WIDTH);
    text_at(d->b, LEFT, y - 6, "title", title);
    snprintf(text, sizeof text, "%g", most);
    text_at(d->b, LEFT - 6, y + 4, "tick", text);
    snprintf(text, sizeof text, "%g", most / 2);
    text_at(d->b, LEFT - 6, y + CHART / 2.0 + 4, "tick", text);
    text_at(d->b, LEFT - 6, y + CHART + 4, "tick", "0");
}

/* A line of steps over time. */
static void line(struct drawing *d, double y, const char *colour, double most,
                 double (*value)(const struct out_sample *s))
{
    buf_printf(d->b, "<path class=\"line\" stroke=\"%s\" d=\"", colour);
    for (uint32_t i = 0; i < d->o->n_samples; i++) {
        const struct out_sample *s = &d->o->samples[i];
        double at = y + CHART * (1 - value(s) / most);

        if (i == 0)
            buf_printf(d->b, "M%.1f %.1f", x_of(d, s->at_ms), at);
        else
            buf_printf(d->b, "H%.1fV%.1f", x_of(d, s->at_ms), at);
    }
    buf_str(d->b, "\"/>\n");
}

static double waiting(const struct out_sample *s)
{
    return s->waiting;
}

static double dollars(const struct out_sample *s)
{
    return (double)s->cost_micros / 1e6;
}

/* ---- machines, a layer for each type */

static uint32_t layer_of(const struct drawing *d, const char *type)
{
    for (uint32_t i = 0; i < d->n_types; i++)
        if (strcmp(d->types[i], type) == 0)
            return i;
    return TYPES - 1;
}

static void types_find(struct drawing *d, const struct outcome *o, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < o[i].n_offers; k++) {
            const struct out_offer *x = &o[i].offers[k];
            uint32_t at = layer_of(d, x->type);

            if (!x->launched || (at < d->n_types))
                continue;
            if (d->n_types < TYPES - 1)
                d->types[d->n_types++] = x->type;
        }
}

/* Of all layers up to this one. */
static double below(const struct drawing *d, const struct out_sample *s,
                    uint32_t layer)
{
    double n = 0;

    for (uint32_t i = 0; i < d->o->n_offers; i++)
        if (layer_of(d, d->o->offers[i].type) <= layer)
            n += s->machines[i];
    return n;
}

/* The highest first: the next one is drawn over it. */
static void layers(struct drawing *d, double y)
{
    for (uint32_t layer = TYPES; layer-- > 0;) {
        double last = LEFT;

        if (layer >= d->n_types && layer != TYPES - 1)
            continue;
        buf_printf(d->b, "<path fill=\"%s\" d=\"M%d %.1f", colours[layer], LEFT,
                   y + CHART);
        for (uint32_t i = 0; i < d->o->n_samples; i++) {
            const struct out_sample *s = &d->o->samples[i];

            last = x_of(d, s->at_ms);
            buf_printf(d->b, "H%.1fV%.1f", last,
                       y + CHART * (1 - below(d, s, layer) / d->most.machines));
        }
        buf_printf(d->b, "V%.1fZ\"/>\n", y + CHART);
    }
}

static void legend(struct drawing *d, double y)
{
    for (uint32_t i = 0; i < d->n_types; i++, y += 18) {
        buf_printf(d->b,
                   "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" "
                   "fill=\"%s\"/>\n",
                   LEFT + WIDTH + 12, y, colours[i]);
        text_at(d->b, LEFT + WIDTH + 30, y + 10, "name", d->types[i]);
    }
}

/* ---- a panel */

static void days(struct drawing *d, double y)
{
    double span = (double)d->most.ms / 3600000, step = rounded(span / 12);
    bool in_days = span > 96;
    char text[40];

    if (in_days)
        step = 24 * rounded(span / 24 / 12);
    for (double at = 0; at <= span; at += step) {
        snprintf(text, sizeof text, in_days ? "%g d" : "%g h",
                 in_days ? at / 24 : at);
        text_at(d->b, LEFT + at / span * WIDTH, y, "time", text);
    }
}

static void panel(struct drawing *d, const struct setting *s, double y)
{
    char text[300];

    snprintf(text, sizeof text,
             "%.200s: %.2f dollars, 95 of 100 waited less "
             "than %.0f s",
             *s->label ? s->label : s->config_path,
             (double)d->o->cost_micros / 1e6, (double)d->o->wait_p95_ms / 1000);
    text_at(d->b, LEFT, y + 18, "head", text);
    y += TOP;
    layers(d, y);
    axis(d, y, "machines", d->most.machines);
    legend(d, y);
    y += CHART + GAP;
    line(d, y, "#d55e00", d->most.waiting, waiting);
    axis(d, y, "tasks waiting, at most", d->most.waiting);
    y += CHART + GAP;
    line(d, y, "#0072b2", d->most.dollars, dollars);
    axis(d, y, "dollars so far", d->most.dollars);
    days(d, y + CHART + 18);
}

void svg_draw(const struct setting *s, const struct outcome *o, uint32_t n,
              struct buf *b)
{
    struct drawing d = {.b = b, .most = scale_of(o, n)};
    unsigned width = LEFT + WIDTH + LEGEND, height = PANEL * n + 10;

    types_find(&d, o, n);
    buf_printf(b,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
               "height=\"%u\" viewBox=\"0 0 %u %u\">\n"
               "<style>text{font:12px sans-serif;fill:#222}"
               ".head{font-size:15px;font-weight:bold}"
               ".tick{text-anchor:end;fill:#555}"
               ".time{text-anchor:middle;fill:#555}"
               ".axis{stroke:#bbb;stroke-width:.5;fill:none}"
               ".line{fill:none;stroke-width:1.2}</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
               width, height, width, height);
    for (uint32_t i = 0; i < n; i++) {
        d.o = &o[i];
        panel(&d, &s[i], (double)i * PANEL);
    }
    buf_str(b, "</svg>\n");
}
