/*
 * fuzz_access.c - lines of api.tokens.  Held: nobody has a right that his line
 * does not name.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/api/door/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct access_list list = {0};
    struct arena a = {0};
    char *text = malloc(n + 1);
    struct err err = {0};

    memcpy(text, data, n);
    text[n] = '\0';
    if (access_parse(&a, "tokens", text, &list, &err) == ST_OK)
        for (uint32_t i = 0; i < list.n; i++) {
            const struct principal *p = &list.v[i];

            assert(*p->name && (!p->admin || strstr(text, "admin")));
            assert(!principal_reads(p) || p->admin || strstr(text, "read"));
            assert(!principal_asks(p, "x") || p->admin ||
                   strstr(text, "request:"));
            assert(!principal_asks(p, "ray") || p->admin);
            assert(principal_rights(p, &a));
        }
    else
        assert(*err.text);
    arena_done(&a);
    free(text);
    return 0;
}
