/*
 * fuzz_text.c - texts on their way out.  Held: nothing that a terminal obeys is
 * in what comes out, and JSON stays the same JSON.
 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/api/out.h"
#include "../../autoscaler/base/text.h"

static void plain(const char *s, size_t n)
{
    while (n) {
        size_t len = *s == '\n' || *s == '\t' ? 1 : text_plain(s, n);

        assert(len && len <= n);
        s += len;
        n -= len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    char *text = arena_strndup(&a, (const char *)data, n);
    json_t *v = json_loadb((const char *)data, n,
                           JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL),
           *w;
    struct buf b;
    struct out o;

    buf_init(&b, 1 << 22);
    buf_plain(&b, text);
    plain(b.s, b.n);
    if (v) {
        char *json = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

        buf_clear(&b);
        buf_plain(&b, json);
        plain(b.s, b.n);
        w = json_loadb(b.s, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert(w && json_equal(v, w));
        json_decref(w);
        free(json);
    }
    buf_clear(&b);
    out_init(&o, &b);
    out_object(&o, NULL);
    out_str(&o, "k", text);
    out_close(&o);
    plain(b.s, b.n);
    w = json_loadb(b.s, b.n, 0, NULL);
    assert(w);
    text_clean(text, strlen(text));
    json_decref(w);
    json_decref(v);
    buf_done(&b);
    arena_done(&a);
    return 0;
}
