/*
 * fuzz_config.c - configuration text that nobody wrote.
 *
 *   clang -fsanitize=fuzzer,address ...     LLVMFuzzerTestOneInput
 *   gcc ... replay.c                        replays files, then mutates them
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
        const struct snap_type *t = &c->types[i].fact;
        assert(t->name && t->provider && t->machine && t->pool);
        assert(t->min <= t->max && t->n_offers > 0 && t->hosts > 0);
        for (uint32_t j = 0; j < t->resources.n; j++)
            assert(t->resources.v[j].amount > 0);
    }
    config_free(c);
    buf_done(&errors);
    return 0;
}
