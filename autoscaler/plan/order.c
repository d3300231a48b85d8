/*
 * order.c - a stable merge sort, bottom-up, with insertion runs of 8.
 */
#include "order.h"

#include <string.h>

enum { RUN = 8 };

static void insertion(uint32_t *v, uint32_t n, order_fn *before,
                      const void *ctx)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t x = v[i], j = i;

        for (; j > 0 && before(ctx, x, v[j - 1]) < 0; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

static void merge(const uint32_t *from, uint32_t mid, uint32_t n, uint32_t *to,
                  order_fn *before, const void *ctx)
{
    uint32_t i = 0, j = mid, k = 0;

    if (mid == n || before(ctx, from[mid], from[mid - 1]) >= 0) {
        memcpy(to, from, n * sizeof *to); /* in order as it is */
        return;
    }
    while (i < mid && j < n)
        to[k++] = before(ctx, from[j], from[i]) < 0 ? from[j++] : from[i++];
    while (i < mid)
        to[k++] = from[i++];
    while (j < n)
        to[k++] = from[j++];
}

void order_sort(uint32_t *v, uint32_t n, order_fn *before, const void *ctx,
                struct arena *scratch)
{
    uint32_t *a = v, *b, *swap;

    for (uint32_t i = 0; i < n; i += RUN)
        insertion(v + i, n - i < RUN ? n - i : RUN, before, ctx);
    if (n <= RUN)
        return;
    b = ARENA_ARRAY(scratch, uint32_t, n);
    for (uint64_t width = RUN; width < n; width *= 2) {
        for (uint64_t i = 0; i < n; i += 2 * width) {
            uint32_t rest = (uint32_t)(n - i);
            uint32_t len = rest < 2 * width ? rest : (uint32_t)(2 * width);
            uint32_t mid = len < width ? len : (uint32_t)width;

            merge(a + i, mid, len, b + i, before, ctx);
        }
        swap = a;
        a = b;
        b = swap;
    }
    if (a != v)
        memcpy(v, a, sizeof *v * n);
}
