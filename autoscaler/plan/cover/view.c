/*
 * view.c - from a cover_problem to its view: which columns count, which
 * items share their allowed bins, which bins are dominated.
 *
 * A bin is dominated by one that may be bought without limit, has at least as
 * much of everything, takes at least the same items and is no dearer: of 844
 * machine types of one cloud region 116 are left.
 */
#include "view.h"

#include <string.h>

/* What a bound may lose when its proof is written down: a part of it, and micros
 * an item. */
enum { DEAREST = 64 }; /* kinds that are told apart */
#define SURE 1e-8
#define WORTH_ROUNDED 1e-3

struct maker {
    const struct cover_problem *p;
    struct arena *arena;
    uint32_t *plain, *dev; /* columns */
    uint32_t n_plain, n_dev;
    uint32_t class_words;
    uint64_t *takes; /* bin -> set of classes of items: alike.h */
};

static bool mask_has(const uint64_t *mask, uint32_t bin)
{
    return !mask || (mask[bin / 64] >> (bin % 64) & 1);
}

static void choose_columns(struct maker *m)
{
    const struct cover_problem *p = m->p;

    m->plain = ARENA_ARRAY(m->arena, uint32_t, p->n_columns);
    m->dev = ARENA_ARRAY(m->arena, uint32_t, p->n_columns);
    for (uint32_t c = 0; c < p->n_columns; c++) {
        bool used = false;

        for (uint32_t i = 0; i < p->n_items && !used; i++)
            used = p->items[i].count && p->items[i].need[c] > 0;
        if (!used)
            continue;
        if (p->columns[c].device)
            m->dev[m->n_dev++] = c;
        else
            m->plain[m->n_plain++] = c;
    }
}

/* Which classes of items each bin takes, by the masks of the problem. */
static void find_takers(struct maker *m)
{
    const struct cover_problem *p = m->p;
    const uint64_t **mask = ARENA_ARRAY(m->arena, const uint64_t *, p->n_items);
    struct alike classes;
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_items; i++)
        if (p->items[i].count)
            mask[n++] = p->items[i].bins;
    alike_make(mask, n, (p->n_bins + 63) / 64, m->arena, &classes);
    m->class_words = (classes.n + 63) / 64;
    m->takes = ARENA_ARRAY(m->arena, uint64_t,
                           (size_t)p->n_bins * m->class_words);
    for (uint32_t c = 0; c < classes.n; c++)
        for (uint32_t b = 0; b < p->n_bins; b++)
            if (mask_has(classes.mask[c], b))
                m->takes[(size_t)b * m->class_words + c / 64] |= UINT64_C(1)
                                                                 << (c % 64);
}

static uint32_t bin_limit(const struct cover_problem *p, uint32_t b)
{
    uint32_t max = p->bins[b].max;

    if (p->n_families && p->family_max[p->bins[b].family] < max)
        max = p->family_max[p->bins[b].family];
    return max;
}

static int64_t bin_devices(const struct cover_problem *p, uint32_t b,
                           uint32_t column)
{
    return p->bins[b].has[column] / AMOUNT_ONE;
}

/* May each b of a plan become one of by?  No limit of by's must be in the way:
 * there is none, or it is the one they have in common. */
static bool may_replace(const struct cover_problem *p, uint32_t b, uint32_t by)
{
    const struct cover_bin *x = &p->bins[b], *y = &p->bins[by];

    if (bin_limit(p, by) == UNLIMITED)
        return true;
    return p->n_families && x->family == y->family &&
           y->max >= p->family_max[y->family];
}

/* Is b never needed because of by? */
static bool dominated(const struct maker *m, uint32_t b, uint32_t by)
{
    const struct cover_problem *p = m->p;
    const struct cover_bin *x = &p->bins[b], *y = &p->bins[by];

    if (y->price > x->price || !may_replace(p, b, by))
        return false;
    if (p->conserve && y->accelerator && !x->accelerator)
        return false;
    for (uint32_t c = 0; c < m->n_plain; c++)
        if (y->has[m->plain[c]] < x->has[m->plain[c]])
            return false;
    for (uint32_t c = 0; c < m->n_dev; c++)
        if (bin_devices(p, by, m->dev[c]) < bin_devices(p, b, m->dev[c]))
            return false;
    for (uint32_t w = 0; w < m->class_words; w++)
        if (m->takes[(size_t)b * m->class_words + w] &
            ~m->takes[(size_t)by * m->class_words + w])
            return false;
    return true;
}

static bool bin_before(const struct cover_problem *p, uint32_t a, uint32_t b)
{
    const struct cover_bin *x = &p->bins[a], *y = &p->bins[b];

    if (x->price != y->price)
        return x->price < y->price;
    if (x->rank != y->rank)
        return x->rank < y->rank;
    return a < b;
}

static void sort_bins(const struct cover_problem *p, uint32_t *v, uint32_t n,
                      uint32_t *tmp)
{
    uint32_t half = n / 2, a = 0, b = half;

    if (n < 2)
        return;
    sort_bins(p, v, half, tmp);
    sort_bins(p, v + half, n - half, tmp);
    memcpy(tmp, v, n * sizeof *v);
    for (uint32_t k = 0; k < n; k++)
        v[k] = b == n || (a < half && !bin_before(p, tmp[b], tmp[a]))
                   ? tmp[a++]
                   : tmp[b++];
}

/* The bins worth looking at, cheapest first. */
static uint32_t *keep_bins(const struct maker *m, uint32_t *ret_n)
{
    const struct cover_problem *p = m->p;
    uint32_t *order = ARENA_ARRAY(m->arena, uint32_t, p->n_bins);
    uint32_t *kept = ARENA_ARRAY(m->arena, uint32_t, p->n_bins);
    uint32_t n = 0, k;

    for (uint32_t b = 0; b < p->n_bins; b++)
        order[b] = b;
    sort_bins(p, order, p->n_bins, kept);
    for (uint32_t o = 0; o < p->n_bins; o++) {
        if (!bin_limit(p, order[o]))
            continue;
        for (k = 0; k < n && !dominated(m, order[o], kept[k]); k++)
            ;
        if (k == n)
            kept[n++] = order[o];
    }
    *ret_n = n;
    return kept;
}

/* The larger the device need, the whole devices of it; a part only where the
 * column allows sharing. */
static struct view_share share_of(const struct pb_column *column, int64_t need)
{
    struct view_share s = {0, 0};

    if (need >= AMOUNT_ONE || (need > 0 && !column->fractions)) {
        int64_t whole = need / AMOUNT_ONE + (need % AMOUNT_ONE != 0);

        s.whole = whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
    } else {
        s.part = need > 0 ? (uint32_t)need : 0;
    }
    return s;
}

static bool fits_alone(const struct maker *m, uint32_t b,
                       const struct cover_item *item)
{
    const struct cover_problem *p = m->p;

    for (uint32_t c = 0; c < m->n_plain; c++)
        if (item->need[m->plain[c]] > p->bins[b].has[m->plain[c]])
            return false;
    for (uint32_t c = 0; c < m->n_dev; c++) {
        struct view_share s = share_of(&p->columns[m->dev[c]],
                                       item->need[m->dev[c]]);

        if ((int64_t)s.whole + (s.part > 0) > bin_devices(p, b, m->dev[c]))
            return false;
    }
    return true;
}

/* conserve looks at all bins, also those that are sold out or dominated: an
 * item is no reason for an accelerator because a plain bin has reached its max.
 */
static bool fits_plain_bin(const struct maker *m, uint32_t item)
{
    const struct cover_problem *p = m->p;

    for (uint32_t b = 0; b < p->n_bins; b++)
        if (!p->bins[b].accelerator && mask_has(p->items[item].bins, b) &&
            fits_alone(m, b, &p->items[item]))
            return true;
    return false;
}

static void fill_bins(const struct maker *m, const uint32_t *kept, uint32_t n,
                      struct view *v)
{
    const struct cover_problem *p = m->p;
    struct arena *a = m->arena;
    int64_t *has = ARENA_ARRAY(a, int64_t, (size_t)n * m->n_plain);
    uint32_t *devices = ARENA_ARRAY(a, uint32_t, (size_t)n * m->n_dev);
    int64_t *price = ARENA_ARRAY(a, int64_t, n);
    uint32_t *max = ARENA_ARRAY(a, uint32_t, n);
    uint32_t *family = ARENA_ARRAY(a, uint32_t, n);
    bool *seeded = ARENA_ARRAY(a, bool, n);

    for (uint32_t t = 0; t < n; t++) {
        const struct cover_bin *bin = &p->bins[kept[t]];

        for (uint32_t c = 0; c < m->n_plain; c++)
            has[(size_t)t * m->n_plain + c] = bin->has[m->plain[c]];
        for (uint32_t c = 0; c < m->n_dev; c++) {
            int64_t k = bin_devices(p, kept[t], m->dev[c]);

            devices[(size_t)t * m->n_dev + c] = k < UINT32_MAX ? (uint32_t)k
                                                               : UINT32_MAX;
        }
        price[t] = bin->price;
        max[t] = bin_limit(p, kept[t]);
        family[t] = p->n_families ? bin->family : 0;
        seeded[t] = p->conserve && bin->accelerator;
    }
    v->n_bins = n;
    v->bin_of = kept;
    v->has = has;
    v->devices = devices;
    v->price = price;
    v->max = max;
    v->family = family;
    v->seeded = seeded;
}

static void fill_items(const struct maker *m, struct view *v)
{
    const struct cover_problem *p = m->p;
    struct arena *a = m->arena;
    uint32_t *item_of = ARENA_ARRAY(a, uint32_t, p->n_items);
    uint32_t *count = ARENA_ARRAY(a, uint32_t, p->n_items);
    bool *accel = ARENA_ARRAY(a, bool, p->n_items);
    int64_t *need = ARENA_ARRAY(a, int64_t, (size_t)p->n_items * m->n_plain);
    struct view_share *share = ARENA_ARRAY(a, struct view_share,
                                           (size_t)p->n_items * m->n_dev);
    uint32_t words = (p->n_items + 63) / 64, n = 0;
    uint64_t *can = ARENA_ARRAY(a, uint64_t, (size_t)v->n_bins * words);

    for (uint32_t i = 0; i < p->n_items; i++) {
        const struct cover_item *item = &p->items[i];
        bool any = false;

        if (!item->count)
            continue;
        for (uint32_t t = 0; t < v->n_bins; t++)
            if (mask_has(item->bins, v->bin_of[t]) &&
                fits_alone(m, v->bin_of[t], item)) {
                can[(size_t)t * words + n / 64] |= UINT64_C(1) << (n % 64);
                any = true;
            }
        if (!any) {
            v->no_home += item->count;
            continue;
        }
        for (uint32_t c = 0; c < m->n_plain; c++)
            need[(size_t)n * m->n_plain + c] = item->need[m->plain[c]];
        for (uint32_t c = 0; c < m->n_dev; c++)
            share[(size_t)n * m->n_dev + c] = share_of(&p->columns[m->dev[c]],
                                                       item->need[m->dev[c]]);
        accel[n] = p->conserve && !fits_plain_bin(m, i);
        item_of[n] = i;
        count[n++] = item->count;
        v->total += item->count;
    }
    v->n_items = n;
    v->item_of = item_of;
    v->count = count;
    v->need = need;
    v->share = share;
    v->needs_accel = accel;
    v->words = words;
    v->can = can;
}

void view_make(const struct cover_problem *p, struct arena *arena,
               struct view *ret)
{
    struct maker m = {.p = p, .arena = arena};
    uint32_t n, *kept;

    memset(ret, 0, sizeof *ret);
    ret->p = p;
    ret->arena = arena;
    choose_columns(&m);
    find_takers(&m);
    kept = keep_bins(&m, &n);
    ret->n_plain = m.n_plain;
    ret->n_dev = m.n_dev;
    fill_bins(&m, kept, n, ret);
    fill_items(&m, ret);
}

void view_again(const struct view *like, const struct cover_problem *p,
                struct arena *arena, struct view *ret)
{
    uint32_t *count = ARENA_ARRAY(arena, uint32_t, like->n_items);
    uint64_t all = 0;

    *ret = *like;
    ret->p = p;
    ret->arena = arena;
    ret->count = count;
    ret->total = 0;
    for (uint32_t i = 0; i < ret->n_items; i++) {
        count[i] = p->items[like->item_of[i]].count;
        ret->total += count[i];
    }
    for (uint32_t i = 0; i < p->n_items; i++)
        all += p->items[i].count;
    ret->no_home = all - ret->total;
}

bool view_covers(const struct view *v, uint32_t a, uint32_t b)
{
    for (uint32_t c = 0; c < v->n_plain; c++)
        if (view_need(v, a)[c] < view_need(v, b)[c])
            return false;
    for (uint32_t d = 0; d < v->n_dev; d++) {
        struct view_share x = v->share[(size_t)a * v->n_dev + d];
        struct view_share y = v->share[(size_t)b * v->n_dev + d];

        if (x.whole < y.whole || (!x.whole && x.part < y.part))
            return false;
    }
    return true;
}

void view_classes(const struct view *v, struct alike *ret)
{
    uint32_t words = (v->n_bins + 63) / 64;
    uint64_t *bins = ARENA_ARRAY(v->arena, uint64_t,
                                 (size_t)v->n_items * words);
    const uint64_t **mask = ARENA_ARRAY(v->arena, const uint64_t *, v->n_items);

    for (uint32_t i = 0; i < v->n_items; i++) {
        mask[i] = bins + (size_t)i * words;
        for (uint32_t t = 0; t < v->n_bins; t++)
            bins[(size_t)i * words + t / 64] |= (uint64_t)view_can(v, t, i)
                                                << (t % 64);
    }
    alike_make(mask, v->n_items, words, v->arena, ret);
}

static uint64_t about(int64_t need, enum view_leave bits_out)
{
    double x = (double)need;
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits >> bits_out;
}

/* Row `from` of can[], for bin t, gets the bit of item `to`. */
static void can_as(const struct view *v, uint32_t from, uint32_t to,
                   uint32_t words, uint64_t *can)
{
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (view_can(v, t, from))
            can[(size_t)t * words + to / 64] |= UINT64_C(1) << (to % 64);
}

void view_condense(const struct view *v, const struct alike *groups,
                   struct view *ret)
{
    const uint32_t n = groups->n, words = (n + 63) / 64;
    uint32_t *some = ARENA_ARRAY(v->arena, uint32_t, n);
    uint32_t *count = ARENA_ARRAY(v->arena, uint32_t, n);
    uint32_t *item_of = ARENA_ARRAY(v->arena, uint32_t, n);
    bool *needs_accel = ARENA_ARRAY(v->arena, bool, n);
    int64_t *need = ARENA_ARRAY(v->arena, int64_t, (size_t)n * v->n_plain);
    double *sum = ARENA_ARRAY(v->arena, double, (size_t)n * v->n_plain);
    struct view_share *share = ARENA_ARRAY(v->arena, struct view_share,
                                           (size_t)n * v->n_dev);
    uint64_t *can = ARENA_ARRAY(v->arena, uint64_t, (size_t)v->n_bins * words);

    for (uint32_t i = 0; i < v->n_items; i++) {
        uint32_t g = groups->class_of[i];

        some[g] = i;
        count[g] += v->count[i];
        for (uint32_t c = 0; c < v->n_plain; c++)
            sum[(size_t)g * v->n_plain + c] += (double)view_need(v, i)[c] *
                                               v->count[i];
    }
    for (uint32_t g = 0; g < n; g++) {
        item_of[g] = v->item_of[some[g]];
        needs_accel[g] = v->needs_accel[some[g]];
        for (uint32_t c = 0; c < v->n_plain; c++)
            need[(size_t)g * v->n_plain + c] =
                (int64_t)(sum[(size_t)g * v->n_plain + c] / count[g]);
        memcpy(share + (size_t)g * v->n_dev,
               v->share + (size_t)some[g] * v->n_dev, v->n_dev * sizeof *share);
        can_as(v, some[g], g, words, can);
    }
    *ret = *v;
    ret->n_items = n;
    ret->item_of = item_of;
    ret->count = count;
    ret->need = need;
    ret->share = share;
    ret->needs_accel = needs_accel;
    ret->words = words;
    ret->can = can;
}

void view_groups(const struct view *v, struct view_rough rough,
                 struct alike *ret)
{
    uint32_t words = 1 + v->n_plain + v->n_dev;
    uint64_t *key = ARENA_ARRAY(v->arena, uint64_t, (size_t)v->n_items * words);
    const uint64_t **row = ARENA_ARRAY(v->arena, const uint64_t *, v->n_items);
    struct alike bins;

    view_classes(v, &bins);
    for (uint32_t i = 0; i < v->n_items; i++) {
        uint64_t *to = key + (size_t)i * words;

        row[i] = to;
        *to++ = bins.class_of[i];
        for (uint32_t c = 0; c < v->n_plain; c++)
            *to++ = about(view_need(v, i)[c], rough.plain);
        for (uint32_t d = 0; d < v->n_dev; d++)
            *to++ = about(view_device_amount(v, i, d), rough.device);
    }
    alike_make(row, v->n_items, words, v->arena, ret);
}

uint32_t *view_bin_numbers(const struct view *v)
{
    uint32_t *ret = ARENA_ARRAY(v->arena, uint32_t, v->p->n_bins);

    memset(ret, 0xff, v->p->n_bins * sizeof *ret);
    for (uint32_t t = 0; t < v->n_bins; t++)
        ret[v->bin_of[t]] = t;
    return ret;
}

/* What the bound loses when so many items, the dearest, may be left out. */
double view_dearest(const struct view *v, const double *worth, uint64_t missing)
{
    double sum = 0, below = 1e300;

    for (int round = 0; missing > 0; round++) {
        double most = -1;
        uint64_t many = round < DEAREST ? 0 : missing; /* no more by one */

        for (uint32_t i = 0; i < v->n_items; i++) {
            if (worth[i] < below && worth[i] > most) {
                most = worth[i];
                many = round < DEAREST ? 0 : missing;
            }
            if (worth[i] == most)
                many += v->count[i];
        }
        if (most <= 0)
            break;
        many = many < missing ? many : missing;
        sum += most * (double)many * (1 + VIEW_SAFE);
        missing -= many;
        below = most;
    }
    return sum;
}

static int64_t unit_of(const struct view *v)
{
    int64_t unit = 0;

    for (uint32_t t = 0; t < v->n_bins; t++)
        for (int64_t a = v->price[t], b = unit; a; unit = b) {
            int64_t r = b % a;

            b = a;
            a = r;
        }
    return unit > 0 ? unit : 1;
}

int64_t view_whole(const struct view *v, double bound)
{
    int64_t unit = unit_of(v), floor = (int64_t)bound;
    double sure = bound * (1 - SURE) - WORTH_ROUNDED * (double)v->total - 1;

    if (unit == 1 || sure <= 0)
        return floor;
    floor = ((int64_t)sure + unit) / unit * unit;
    return (double)floor > bound ? floor : (int64_t)bound;
}

void view_proof(const struct view *v, const double *worth, double money,
                struct cover_proof *ret)
{
    double *w = ARENA_ARRAY(v->arena, double, v->p->n_items);

    for (uint32_t i = 0; i < v->n_items; i++)
        w[v->item_of[i]] = worth[i] > 0 ? worth[i] : 0;
    *ret = (struct cover_proof){.worth = w, .money = money, .unit = unit_of(v)};
}
