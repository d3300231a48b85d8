/*
 * fuzz_catalogue.c - a machine catalogue of somebody's.
 */
#include <assert.h>
#include <string.h>

#include "../../autoscaler/config/catalogue.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    struct catalogue *c = NULL;
    struct cat_machine m;
    struct buf errors;
    struct err err;

    buf_init(&errors, 1 << 20);
    if (catalogue_load(&a, memory_file(data, n, NULL), &c, &errors) == ST_OK) {
        assert(c && !errors.n);
        if (catalogue_find(c, "my.big", &a, &m, &err) == ST_OK)
            assert(m.name && m.price_micros_hour >= -1 && m.resources.n);
    } else {
        assert(errors.n);
    }
    buf_done(&errors);
    arena_done(&a);
    return 0;
}
