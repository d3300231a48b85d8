/*
 * fuzz_ray.c - the parser of a Ray head's reply, fed with anything.
 *
 *   clang -fsanitize=fuzzer,address -DLIBFUZZER ...   libFuzzer
 *   gcc -fsanitize=address,undefined ...              plain:
 *     fuzz_ray FILE...            replays each file
 *     fuzz_ray -w FILE            writes a large made-up reply (a seed)
 *     fuzz_ray [-s SEED] [-n RUNS] [FILE...]   mutates them, or a made-up one
 *
 * Prints its seed.  What it checks besides not crashing: the view is whole,
 * and the same bytes give the same view.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/wire/ray/inside.h"
#include "../unit/seed.h"
#include "../unit/wire_proto.h"

static uint64_t hash_demand(uint64_t h, const struct snap_demand *d)
{
    h = hash_text(hash_text(h, d->owner), d->id) + d->source + d->strategy;
    assert(d->n_bundles > 0);
    for (uint32_t b = 0; b < d->n_bundles; b++) {
        assert(d->bundles[b].n_alts > 0 && d->bundles[b].count > 0);
        h = h * 31 + d->bundles[b].count;
        for (uint32_t a = 0; a < d->bundles[b].n_alts; a++) {
            const struct snap_alt *alt = &d->bundles[b].alts[a];
            assert(alt->resources.n + alt->selector.n > 0);
            for (uint32_t i = 0; i < alt->resources.n; i++) {
                assert(alt->resources.v[i].amount > 0);
                h = hash_text(h, alt->resources.v[i].name) +
                    (uint64_t)alt->resources.v[i].amount;
            }
            for (uint32_t i = 0; i < alt->selector.n; i++) {
                assert(alt->selector.v[i].values.n > 0);
                h = hash_text(h, alt->selector.v[i].key);
                for (uint32_t k = 0; k < alt->selector.v[i].values.n; k++)
                    h = hash_text(h, alt->selector.v[i].values.v[k]);
            }
        }
    }
    return h;
}

static uint64_t hash_view(const struct source_view *v)
{
    uint64_t h = hash_text(0, v->session) + (uint64_t)v->version;
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct source_node *n = &v->nodes[i];
        assert(n->total.n == n->available.n);
        assert(n->idle_ms == -1 || n->status == SOURCE_IDLE);
        h = hash_text(hash_text(h, n->node_id), n->activity);
        for (uint32_t k = 0; k < n->total.n; k++) {
            assert(n->total.v[k].amount > 0);
            assert(n->available.v[k].amount >= 0);
            assert(n->available.v[k].amount <= n->total.v[k].amount);
            h = hash_text(h, n->total.v[k].name);
        }
        for (uint32_t k = 0; k < n->labels.n; k++)
            h = hash_text(hash_text(h, n->labels.v[k].key),
                          n->labels.v[k].value);
    }
    for (uint32_t i = 0; i < v->n_demands; i++)
        h = hash_demand(h, &v->demands[i]);
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        struct arena scratch = {0};
        struct source_view *view = source_view_new();
        struct err err = {0};
        enum status s = ray_view_parse(data, n, &scratch, view, &err);
        assert(s == ST_OK || (s == ST_BROKEN && err.text[0]));
        arena_done(&scratch); /* the view must not need it */
        hash[i] = s ? 0 : hash_view(view);
        source_view_unref(view);
    }
    assert(hash[0] == hash[1]);
    return 0;
}

#ifndef LIBFUZZER
static uint64_t rng;

static uint32_t roll(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return n ? (uint32_t)(rng >> 33) % n : 0;
}

static void mutate(const char *s, size_t n)
{
    size_t extra = roll(4) ? 0 : roll(200);
    uint8_t *p = malloc(n + extra + 1);
    memcpy(p, s, n);
    for (uint32_t k = roll(6) + 1; k > 0 && n; k--) {
        size_t at = roll((uint32_t)n), len = roll(40);
        switch (roll(5)) {
        case 0: p[at] ^= (uint8_t)(1u << roll(8)); break;
        case 1: p[at] = (uint8_t)roll(256); break;
        case 2: /* one place over another */
            if (at + len < n)
                memmove(p + roll((uint32_t)(n - len)), p + at, len);
            break;
        case 3: /* something taken out */
            if (at + len < n) {
                memmove(p + at, p + at + len, n - at - len);
                n -= len;
            }
            break;
        default: /* something doubled */
            if (at + len < n && len <= extra) {
                memmove(p + at + len, p + at, n - at);
                n += len;
                extra -= len;
            }
        }
    }
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, p, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(p);
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *p = malloc(PB_MAX);
    if (!f || !p) {
        perror(path);
        exit(2);
    }
    *n = fread(p, 1, PB_MAX, f);
    fclose(f);
    return p;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0;
    unsigned long runs = 0;
    int i = 1;
    struct buf made;
    buf_init(&made, PB_MAX);
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (argv[i][1] == 's')
            seed = strtoull(argv[i + 1], NULL, 0);
        else if (argv[i][1] == 'n')
            runs = strtoul(argv[i + 1], NULL, 0);
        else if (argv[i][1] == 'w') {
            pb_large_reply(&made, 1000, 4000, 100);
            FILE *f = fopen(argv[i + 1], "wb");
            if (!f || fwrite(made.s, 1, made.n, f) != made.n || fclose(f))
                return perror(argv[i + 1]), 2;
            buf_done(&made);
            return 0;
        }
    rng = seed_of(seed) * 2654435761u + 88172645463325252u;
    pb_large_reply(&made, 4, 4, 2);
    int n_files = argc - i;
    for (int k = 0; k < n_files; k++) {
        size_t n;
        char *p = slurp(argv[i + k], &n);
        LLVMFuzzerTestOneInput((uint8_t *)p, n);
        for (unsigned long r = 0; r < runs; r++)
            mutate(p, n);
        free(p);
    }
    for (unsigned long r = 0; !n_files && r < (runs ? runs : 100000); r++)
        mutate(made.s, made.n);
    buf_done(&made);
    puts("no crash");
    return 0;
}
#endif
