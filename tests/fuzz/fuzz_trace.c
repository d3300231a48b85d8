/*
 * fuzz_trace.c - a table of jobs that somebody else wrote, for `simulate`.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/simulate/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct trace t = {.path = "t.csv"};
    char *text = malloc(n + 1);
    struct buf errors;
    enum status s;

    memcpy(text, data, n);
    text[n] = '\0';
    buf_init(&errors, 1 << 20);
    s = trace_csv("t.csv", text, &t, &errors);
    assert(s == ST_OK || errors.n > 0);
    for (uint32_t i = 0; s == ST_OK && i < t.jobs.n; i++)
        assert(t.jobs.v[i].count > 0 && t.jobs.v[i].runs_ms >= 0);
    trace_free(&t);
    buf_done(&errors);
    free(text);
    return 0;
}
