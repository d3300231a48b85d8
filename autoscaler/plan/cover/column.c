/*
 * column.c - see column.h.
 *
 * With the multipliers of the bound known, worth over priced size is a nearly
 * right order to fill by; the rest is variety: each promising item forced in
 * first, and filling one device at a time with the multipliers tuned to what
 * is left.
 */
#include "column.h"

#include <string.h>

enum { FORCED = 4, POLISHED = 20 }; /* items forced in first; fills anew */
#define NOISE 0.01                  /* of the worths, grows with each dive */

struct column_maker *column_make(const struct view *v, struct price *price)
{
    struct arena *a = v->arena;
    struct column_maker *m = ARENA_NEW(a, struct column_maker);

    m->v = v;
    m->price = price;
    space_make(v, &m->space);
    m->key = ARENA_ARRAY(a, double, v->n_items);
    m->order = ARENA_ARRAY(a, uint32_t, v->n_items);
    m->noisy = ARENA_ARRAY(a, double, v->n_items);
    m->tmp = ARENA_ARRAY(a, uint32_t, v->n_items);
    m->left = ARENA_ARRAY(a, uint32_t, v->n_items);
    m->free = ARENA_ARRAY(a, double, price->scalars);
    m->devices = ARENA_ARRAY(a, uint32_t, v->n_dev);
    m->lambda = ARENA_ARRAY(a, double, price->scalars);
    m->dives = 2;
    m->seed = 20260101;
    return m;
}

static void sort_by_key(const double *key, uint32_t *v, uint32_t n,
                        uint32_t *tmp)
{
    uint32_t half = n / 2, a = 0, b = half;

    if (n <= 12) {
        for (uint32_t i = 1; i < n; i++) {
            uint32_t x = v[i], k = i;

            for (; k && key[v[k - 1]] < key[x]; k--)
                v[k] = v[k - 1];
            v[k] = x;
        }
        return;
    }
    sort_by_key(key, v, half, tmp);
    sort_by_key(key, v + half, n - half, tmp);
    memcpy(tmp, v, half * sizeof *v);
    for (uint32_t k = 0; a < half; k++)
        v[k] = b == n || key[tmp[a]] >= key[v[b]] ? tmp[a++] : v[b++];
}

/* Items of the bin by worth over size at the bin's multipliers. */
static void make_order(struct column_maker *m, uint32_t t, const double *worth,
                       const uint32_t *left)
{
    const struct price *p = m->price;
    const struct price_bin *b = &p->bin[t];

    m->n_order = 0;
    for (uint32_t r = 0; r < b->n_runs; r++)
        for (uint32_t k = b->run[r].first; k < b->run[r].first + b->run[r].n;
             k++) {
            uint32_t i = b->item[k];
            double size;

            if (!left[i] || worth[i] <= 0)
                continue;
            size = price_size(p, b, &b->run[r], k);
            m->key[i] = size > 0 ? worth[i] / size : 1e30 * worth[i];
            m->order[m->n_order++] = i;
        }
    sort_by_key(m->key, m->order, m->n_order, m->tmp);
    m->work += 12 * (uint64_t)m->n_order + 2 * b->n;
}

static void put(struct column_maker *m, uint32_t item, uint32_t most,
                const double *worth)
{
    uint32_t n;

    if (most > m->left[item])
        most = m->left[item];
    if (!most || !space_fits(&m->space, item))
        return;
    m->work += 6;
    n = space_put(&m->space, item, most);
    if (!n)
        return;
    m->trial.value += worth[item] * n;
    m->left[item] -= n;
    fill_add(&m->trial, item, n, m->v->arena);
}

static void fill_by_order(struct column_maker *m, const double *worth)
{
    for (uint32_t k = 0; k < m->n_order; k++)
        put(m, m->order[k], m->left[m->order[k]], worth);
    m->work += 2 * (uint64_t)m->n_order;
}

static void begin(struct column_maker *m, uint32_t t)
{
    m->trial.part.n = 0;
    m->trial.value = 0;
    space_open(&m->space, t);
}

/* Gives back what the trial took. */
static void restore(struct column_maker *m)
{
    for (uint32_t k = 0; k < m->trial.part.n; k++)
        m->left[m->trial.part.v[k].item] += m->trial.part.v[k].count;
}

static bool same_fill(const struct fill *a, const struct fill *b)
{
    return a->part.n == b->part.n &&
           !memcmp(a->part.v, b->part.v, a->part.n * sizeof *a->part.v);
}

/* The trial joins the best ones if it is worth it. */
static void offer(struct column_maker *m, uint32_t t, double above)
{
    struct fill swap;
    bool seed = !m->v->seeded[t];
    uint32_t at;

    restore(m);
    if (m->trial.value <= above)
        return;
    for (uint32_t k = 0; k < m->trial.part.n && !seed; k++)
        seed = m->v->needs_accel[m->trial.part.v[k].item];
    if (!seed)
        return;
    for (uint32_t k = 0; k < m->n_best; k++)
        if (m->best[k].value == m->trial.value &&
            same_fill(&m->best[k], &m->trial))
            return;
    if (m->n_best == COLUMN_KEEP) {
        if (m->trial.value <= m->best[m->n_best - 1].value)
            return;
        m->n_best--;
    }
    swap = m->best[m->n_best];
    m->best[m->n_best] = m->trial;
    m->trial = swap;
    for (at = m->n_best++; at && m->best[at - 1].value < m->best[at].value;
         at--) {
        swap = m->best[at];
        m->best[at] = m->best[at - 1];
        m->best[at - 1] = swap;
    }
}

static void put_seed(struct column_maker *m, uint32_t t, const double *worth)
{
    if (!m->v->seeded[t])
        return;
    for (uint32_t k = 0; k < m->n_order; k++)
        if (m->v->needs_accel[m->order[k]]) {
            put(m, m->order[k], 1, worth);
            return;
        }
}

static void forced_fills(struct column_maker *m, uint32_t t,
                         const double *worth, double above)
{
    uint32_t n = m->n_order < FORCED ? m->n_order : FORCED;

    for (uint32_t k = 0; k < n; k++) {
        begin(m, t);
        put_seed(m, t, worth);
        /* One of it, or as many as go, in turns. */
        put(m, m->order[k], 1 + column_random(&m->seed) % 3, worth);
        for (uint32_t q = 0; q < m->n_order; q++)
            if (q != k && column_random(&m->seed) % 8)
                put(m, m->order[q], m->left[m->order[q]], worth);
        put(m, m->order[k], m->left[m->order[k]], worth);
        fill_by_order(m, worth);
        offer(m, t, above);
        m->work += 3 * (uint64_t)m->n_order;
    }
}

static void measure_rest(struct column_maker *m, uint32_t t)
{
    const struct view *v = m->v;

    for (uint32_t c = 0; c < v->n_plain; c++) {
        double has = (double)view_has(v, t)[c];

        m->free[c] = has > 0 ? (double)m->space.plain[c] / has : 0;
    }
    for (uint32_t d = 0; d < v->n_dev; d++) {
        double has = (double)v->devices[(size_t)t * v->n_dev + d];

        m->devices[d] = m->space.dev[d].whole;
        if (v->n_plain + d < m->price->scalars)
            m->free[v->n_plain + d] = has > 0
                                          ? (double)m->space.dev[d].whole / has
                                          : 0;
    }
}

/* Fills one device after the other, each with the best content at multipliers
 * tuned to what is left; then by order. */
static void fill_by_device(struct column_maker *m, uint32_t t,
                           const double *worth, const double *noisy,
                           double above)
{
    struct price *p = m->price;
    struct price_bin *b = &p->bin[t];
    struct price_rest rest = {m->free, m->devices, m->left};
    bool more = true;

    memcpy(m->lambda, b->lambda, p->scalars * sizeof *m->lambda);
    begin(m, t);
    while (more) {
        uint32_t had = m->trial.part.n;

        measure_rest(m, t);
        more = false;
        for (uint32_t d = 0; d < m->v->n_dev; d++)
            more |= m->devices[d] > 0;
        if (!more)
            break;
        price_tune(p, t, noisy, &rest, 0, 12);
        /* A whole-device item that the bound took, else one shared device. */
        for (uint32_t r = 0; r < b->n_runs && m->trial.part.n == had; r++) {
            if (b->run[r].dev == UINT32_MAX || !b->run[r].whole)
                continue;
            for (uint32_t k = b->run[r].first;
                 k < b->run[r].first + b->run[r].n; k++)
                if (p->taken[k]) {
                    put(m, b->item[k], 1, worth);
                    break;
                }
        }
        for (uint32_t k = 0; k < b->n && m->trial.part.n == had; k++) {
            if (!p->device_taken[k])
                continue;
            for (uint32_t q = k; q < b->n; q++)
                if (p->device_taken[q])
                    put(m, b->item[q], p->device_taken[q], worth);
            break;
        }
        more = m->trial.part.n > had;
    }
    measure_rest(m, t);
    price_tune(p, t, noisy, &rest, 0, 12);
    make_order(m, t, noisy, m->left);
    fill_by_order(m, worth);
    offer(m, t, above);
    memcpy(b->lambda, m->lambda, p->scalars * sizeof *m->lambda);
}

static void copy_fill(struct fill *to, const struct fill *from, struct arena *a)
{
    to->part.n = 0;
    to->value = from->value;
    for (uint32_t k = 0; k < from->part.n; k++)
        VEC_PUSH(a, &to->part, from->part.v[k]);
}

/* The best fill, again and again: some of it taken out, and filled anew in an
 * order that chance leaves gaps in. */
static void polish(struct column_maker *m, uint32_t t, const double *worth,
                   double above)
{
    struct arena *a = m->v->arena;

    if (!m->n_best)
        return;
    copy_fill(&m->from, &m->best[0], a);
    make_order(m, t, worth, m->left);
    for (uint32_t r = 0; r < POLISHED; r++) {
        uint32_t out_of_8 = 2 + column_random(&m->seed) % 4;

        begin(m, t);
        for (uint32_t k = 0; k < m->from.part.n; k++) {
            uint32_t n = m->from.part.v[k].count, stay = 0;

            for (uint32_t c = 0; c < n; c++)
                stay += column_random(&m->seed) % 8 >= out_of_8;
            put(m, m->from.part.v[k].item, stay, worth);
            m->work += n;
        }
        for (uint32_t k = 0; k < m->n_order; k++)
            if (column_random(&m->seed) % 4)
                put(m, m->order[k], 1 + column_random(&m->seed) % 2, worth);
        fill_by_order(m, worth);
        m->work += 2 * (uint64_t)m->n_order;
        if (m->trial.value >= m->from.value)
            copy_fill(&m->from, &m->trial, a);
        offer(m, t, above);
    }
}

void column_search(struct column_maker *m, uint32_t t, const double *worth,
                   const uint32_t *left, double above, int effort)
{
    m->n_best = 0;
    memcpy(m->left, left, m->v->n_items * sizeof *m->left);
    make_order(m, t, worth, left);
    begin(m, t);
    put_seed(m, t, worth);
    fill_by_order(m, worth);
    offer(m, t, above);
    if (effort >= 1)
        forced_fills(m, t, worth, above);
    for (int r = 0; effort >= 2 && r < m->dives; r++) {
        for (uint32_t i = 0; i < m->v->n_items; i++)
            m->noisy[i] = worth[i] *
                          (1 +
                           NOISE * r * (column_fraction(&m->seed) - 0.5) * 2);
        fill_by_device(m, t, worth, m->noisy, above);
    }
    if (effort >= 2 && m->polish)
        polish(m, t, worth, above);
}

/* The item itself while some are left, else the worthiest one that needs no
 * more than it. */
static uint32_t stand_in(const struct column_maker *m, uint32_t t,
                         const double *worth, uint32_t item)
{
    const struct view *v = m->v;
    uint32_t best = UINT32_MAX;

    if (m->left[item])
        return item;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (m->left[i] && view_can(v, t, i) && view_covers(v, item, i) &&
            (best == UINT32_MAX || worth[i] > worth[best]))
            best = i;
    return best;
}

void column_top_up(struct column_maker *m, uint32_t t, const double *worth,
                   const uint32_t *left, const struct cover_part *part,
                   uint32_t n)
{
    m->n_best = 0;
    memcpy(m->left, left, m->v->n_items * sizeof *m->left);
    price_evaluate(m->price, t, worth, NULL);
    make_order(m, t, worth, left);
    begin(m, t);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t want = part[k].count; want;) {
            uint32_t i = stand_in(m, t, worth, part[k].item);
            uint32_t most;

            if (i == UINT32_MAX)
                break;
            most = want < m->left[i] ? want : m->left[i];
            put(m, i, most, worth);
            want -= most;
        }
    fill_by_order(m, worth);
    offer(m, t, -1);
}
