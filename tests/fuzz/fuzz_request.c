/*
 * fuzz_request.c - the body of POST /v1/request_resources, by anybody who has the
 * token.  Held: what is taken and written is taken again, as the same text.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "../../autoscaler/api/request.h"
#include "../../autoscaler/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena arena = {0};
    struct request_in first, again;
    struct err err = {0};
    json_t *v = NULL, *w = NULL;

    if (codec_parse((const char *)data, n, &v, &err) == ST_OK &&
        request_read(v, "fuzz", 1, &arena, &first, &err) == ST_OK) {
        assert(owner_valid(first.owner) && first.ttl_ms >= 0);
        assert(codec_parse(first.body, strlen(first.body), &w, &err) == ST_OK);
        assert(request_read(w, first.owner, 1, &arena, &again, &err) == ST_OK);
        assert(strcmp(first.body, again.body) == 0);
        assert(first.demand.n_bundles == again.demand.n_bundles);
    }
    json_decref(v);
    json_decref(w);
    arena_done(&arena);
    return 0;
}
