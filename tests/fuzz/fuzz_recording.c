/*
 * fuzz_recording.c - a line of a recording, as `--replay-http` reads it from a
 * file that somebody sent in.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "../../autoscaler/cloud/recording_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    struct exchange x = {0};
    const char *wrong = exchange_read(&a, (const char *)data, n, &x);

    if (!wrong) {
        assert(x.key && x.host && x.request_id && x.type && x.zone);
        assert(x.failed != ST_OK || x.body);
        assert(!x.body || strlen(x.body) <= x.body_len);
        for (size_t i = 0; i < x.n_headers; i++)
            assert(x.headers[i].key && x.headers[i].value);
    }
    arena_done(&a);
    return 0;
}
