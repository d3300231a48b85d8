/*
 * density.c - see density.h.
 *
 * Sorting is a good part of a first plan's time, so keys are sorted by bytes.
 */
#include "density.h"

#include <string.h>

struct density {
    const struct view *v;
    struct price *price;
    uint64_t *key[BY_N], *tmp;  /* scratch of the sort */
    uint64_t *wanted;           /* bit per item with something left */
    double *amount;             /* item x (plain, then device) column */
    double *per_has, *scarcity; /* of the bin at hand, per column */
};

static void measure_amounts(struct density *d)
{
    const struct view *v = d->v;
    uint32_t n = v->n_plain + v->n_dev;
    double *to;

    to = d->amount = ARENA_ARRAY(v->arena, double, (size_t)v->n_items *n);
    for (uint32_t i = 0; i < v->n_items; i++) {
        for (uint32_t c = 0; c < v->n_plain; c++)
            *to++ = (double)view_need(v, i)[c];
        for (uint32_t c = 0; c < v->n_dev; c++)
            *to++ = (double)view_device_amount(v, i, c);
    }
}

struct density *density_make(const struct view *v, struct price *price)
{
    struct arena *a = v->arena;
    struct density *d = ARENA_NEW(a, struct density);

    d->v = v;
    d->price = price;
    for (int s = 0; s < BY_N; s++)
        d->key[s] = ARENA_ARRAY(a, uint64_t, v->n_items);
    d->tmp = ARENA_ARRAY(a, uint64_t, v->n_items);
    d->wanted = ARENA_ARRAY(a, uint64_t, v->words);
    d->per_has = ARENA_ARRAY(a, double, v->n_plain + v->n_dev);
    d->scarcity = ARENA_ARRAY(a, double, v->n_plain + v->n_dev);
    measure_amounts(d);
    return d;
}

void density_want(struct density *d, const uint32_t *left)
{
    memset(d->wanted, 0, d->v->words * sizeof *d->wanted);
    for (uint32_t i = 0; i < d->v->n_items; i++)
        d->wanted[i / 64] |= (uint64_t)(left[i] > 0) << (i % 64);
}

/* A key sorts by its upper half, the item is the lower one; equal keys keep
 * the items' order. */
static uint64_t key_of(double density, uint32_t item)
{
    float f = density < 1e37 ? (float)density : 1e37F;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits); /* of floats >= 0: in their order */
    return (uint64_t)(0x7fffffff - bits) << 32 | item;
}

/* One byte of the keys, from lowest to highest. */
static void sort_byte(const uint64_t *from, uint64_t *to, uint32_t n,
                      unsigned shift)
{
    uint32_t at[256] = {0}, sum = 0;

    for (uint32_t k = 0; k < n; k++)
        at[from[k] >> shift & 255]++;
    for (unsigned b = 0; b < 256; b++) {
        uint32_t here = at[b];

        at[b] = sum;
        sum += here;
    }
    for (uint32_t k = 0; k < n; k++)
        to[at[from[k] >> shift & 255]++] = from[k];
}

static void sort_few(uint64_t *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        uint32_t k = i;

        for (; k && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Of many keys only the 16 (of thousands: 24) highest bits in which any two
 * differ are sorted by: smaller differences in density do not matter. */
static void sort_keys(uint64_t *v, uint32_t n, uint64_t *tmp)
{
    unsigned bits = n > 2048 ? 24 : 16, shift = 32;
    uint64_t least = UINT64_MAX, most = 0;

    if (n <= 40) {
        sort_few(v, n);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        least = v[k] < least ? v[k] : least;
        most = v[k] > most ? v[k] : most;
    }
    least = least >> 32 << 32;
    while ((most - least) >> shift >> bits)
        shift++;
    for (uint32_t k = 0; k < n; k++)
        v[k] -= least;
    for (unsigned done = 0; done < bits; done += 16) {
        sort_byte(v, tmp, n, shift + done);
        if (done + 8 == bits)
            memcpy(v, tmp, n * sizeof *v);
        else
            sort_byte(tmp, v, n, shift + done + 8);
    }
}

/* How much of each column of the bin all items left (that fit it) would take,
 * relative to the other columns. */
static void measure_scarcity(struct density *d, uint32_t bin,
                             const uint32_t *left)
{
    const struct view *v = d->v;
    uint32_t n = v->n_plain + v->n_dev;
    double sum = 0;

    for (uint32_t c = 0; c < n; c++)
        d->scarcity[c] = 0;
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t set = d->wanted[w] & v->can[(size_t)bin * v->words + w];

        for (; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);
            const double *amount = d->amount + (size_t)i * n;

            for (uint32_t c = 0; c < n; c++)
                d->scarcity[c] += (double)left[i] * amount[c];
        }
    }
    for (uint32_t c = 0; c < n; c++) {
        d->scarcity[c] *= d->per_has[c];
        sum += d->scarcity[c];
    }
    for (uint32_t c = 0; c < n && sum > 0; c++)
        d->scarcity[c] = d->scarcity[c] / sum + 0.02;
}

static void measure_bin(struct density *d, uint32_t bin)
{
    const struct view *v = d->v;

    for (uint32_t c = 0; c < v->n_plain + v->n_dev; c++) {
        double has =
            c < v->n_plain
                ? (double)view_has(v, bin)[c]
                : (double)v->devices[(size_t)bin * v->n_dev + c - v->n_plain] *
                      1e4;

        d->per_has[c] = has > 0 ? 1 / has : 0;
    }
}

/* Sizes as the multipliers of the bound have them.  Returns how many. */
static uint32_t priced_keys(struct density *d, uint32_t bin,
                            const double *weight, const uint32_t *left)
{
    struct price *p = d->price;
    const struct price_bin *b = &p->bin[bin];
    uint32_t n = 0;

    price_evaluate(p, bin, weight, NULL);
    for (uint32_t r = 0; r < b->n_runs; r++)
        for (uint32_t k = b->run[r].first; k < b->run[r].first + b->run[r].n;
             k++) {
            uint32_t i = b->item[k];
            double size = price_size(p, b, &b->run[r], k);

            if (left[i])
                d->key[BY_PRICED][n++] = key_of(
                    size > 0 ? weight[i] / size : 1e300, i);
        }
    return n;
}

/* The keys of one item for the sizes that need no multipliers. */
static void add_keys(struct density *d, uint32_t i, unsigned sizes,
                     double weight, uint32_t n)
{
    uint32_t columns = d->v->n_plain + d->v->n_dev;
    const double *amount = d->amount + (size_t)i * columns;
    double size[BY_N] = {0};

    for (uint32_t c = 0; c < columns; c++) {
        double share = amount[c] * d->per_has[c];

        size[BY_SUM] += share;
        size[BY_SCARCE] += share * d->scarcity[c];
        if (share > size[BY_LARGEST])
            size[BY_LARGEST] = share;
    }
    for (int s = 0; s < BY_PRICED; s++)
        if (sizes >> s & 1)
            d->key[s][n] = key_of(size[s] > 0 ? weight / size[s] : 1e300, i);
}

/* Sorts the first n keys of a size into an order. */
static void take_order(struct density *d, int size, uint32_t n,
                       struct density_order *ret)
{
    const uint64_t *key = d->key[size];
    uint32_t *item = ret->item;

    sort_keys(d->key[size], n, d->tmp);
    for (uint32_t k = 0; k < n; k++)
        item[k] = (uint32_t)key[k];
    ret->n = n;
}

uint64_t density_sort(struct density *d, uint32_t bin, unsigned sizes,
                      const double *weight, const uint32_t *left,
                      struct density_order *order)
{
    const struct view *v = d->v;
    uint64_t work = 0;
    uint32_t n = 0;

    measure_bin(d, bin);
    if (sizes >> BY_SCARCE & 1)
        measure_scarcity(d, bin, left);
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t set = d->wanted[w] & v->can[(size_t)bin * v->words + w];

        for (; set; set &= set - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(set);

            add_keys(d, i, sizes, weight[i], n++);
        }
    }
    for (int s = 0; s < BY_N; s++) {
        if (!(sizes >> s & 1))
            continue;
        take_order(d, s, s == BY_PRICED ? priced_keys(d, bin, weight, left) : n,
                   &order[s]);
        work += 8 * (uint64_t)order[s].n;
    }
    return work;
}
