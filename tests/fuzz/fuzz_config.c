/*
 * fuzz_config.c - configuration text that nobody wrote.
 *
 *   clang -fsanitize=fuzzer,address ...     LLVMFuzzerTestOneInput
 *   gcc -DFUZZ_REPLAY ...                   main: replays files, then mutates
 *                                           them by a printed seed
 *
 * Held: no crash, no hang, a configuration or at least one line of errors,
 * never both, and every line begins with the path.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/config/config.h"
#include "../../autoscaler/config/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct config *c = NULL;
    struct buf errors;
    enum status s;

    buf_init(&errors, 1 << 20);
    s = config_parse("fuzz.yaml", (const char *)data, n, &c, &errors);
    assert((s == ST_OK) == (c != NULL));
    assert((s == ST_OK) == (errors.n == 0));
    for (const char *p = errors.n ? errors.s : NULL; p && *p;) {
        assert(strncmp(p, "fuzz.yaml:", 10) == 0);
        p = strchr(p, '\n');
        assert(p);
        p++;
    }
    for (uint32_t i = 0; c && i < c->n_types; i++) {
        const struct fact_type *t = &c->types[i].fact;
        assert(t->name && t->provider && t->machine && t->pool);
        assert(t->min <= t->max && t->n_offers > 0 && t->hosts > 0);
        for (uint32_t j = 0; j < t->resources.n; j++)
            assert(t->resources.v[j].amount > 0);
    }
    config_free(c);
    buf_done(&errors);
    return 0;
}

#ifdef FUZZ_REPLAY
static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

/* Bytes flipped, cut, doubled, and words of the language strewn in. */
static size_t mutate(char *text, size_t n, size_t max)
{
    static const char *const words[] = {
        "{", "}", "[", "]", ": ", ", ", "\n", "\n  ", "&a ", "*a", "<<: *a", "-",
        "null", "-1", "1e9", "99999999999999999999", "0.5", "50Gi", "|", "'",
        "\"", "max: ", "kind: RayCluster", "apiVersion: v1", "podTypes: ",
        "available_node_types: ", "resources: ", "davit: ", "\xff", "\t", "---\n",
        "spec: ", "workerGroupSpecs: ", "machine: n1-standard-8+t4x2", "%",
    };

    for (uint32_t k = 1 + random_below(4); k > 0 && n > 0; k--) {
        size_t at = random_below((uint32_t)n), len = random_below(40);
        const char *w = words[random_below(sizeof words / sizeof *words)];
        switch (random_below(4)) {
        case 0:
            text[at] = (char)random_below(256);
            break;
        case 1:
            len = len < n - at ? len : n - at;
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
            break;
        case 2:
            len = len < n - at ? len : n - at;
            if (n + len > max)
                break;
            memmove(text + at + len, text + at, n - at);
            n += len;
            break;
        default:
            len = strlen(w);
            if (n + len > max)
                break;
            memmove(text + at + len, text + at, n - at);
            memcpy(text + at, w, len);
            n += len;
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    const char *rounds = getenv("FUZZ_ROUNDS"), *seed = getenv("FUZZ_SEED");
    unsigned long k = rounds ? strtoul(rounds, NULL, 10) : 200;
    unsigned long runs = 0;

    random_state = seed ? strtoull(seed, NULL, 10) : 1;
    printf("fuzz_config: seed %llu, %lu rounds a file\n",
           (unsigned long long)random_state, k);
    for (int i = 1; i < argc; i++) {
        struct err err;
        char *text, *copy;
        size_t n;

        if (file_slurp(argv[i], 1 << 20, &text, &n, &err) != ST_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], err.text);
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
        copy = malloc(n + 4096);
        for (unsigned long j = 0; j < k; j++, runs++) {
            memcpy(copy, text, n);
            size_t m = mutate(copy, n, n + 4000);
            /* An exact heap copy: one byte too far is seen. */
            uint8_t *exact = malloc(m ? m : 1);
            memcpy(exact, copy, m);
            LLVMFuzzerTestOneInput(exact, m);
            free(exact);
        }
        free(copy);
        free(text);
    }
    printf("fuzz_config: %lu mutations of %d files held\n", runs, argc - 1);
    return 0;
}
#endif
