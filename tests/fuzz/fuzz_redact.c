/*
 * fuzz_redact.c - what goes into a recording: a URL and a body that a cloud or a
 * plug-in chose, in lines of their own.  Held: a secret that a header told is
 * nowhere in what is written afterwards.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "../../autoscaler/cloud/redact.h"

static const char secret[] = "q7Zk2mVx9Lw4Tn8RbY3c";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct secrets *s = secrets_new();
    struct arena a = {0};
    char *text = arena_strndup(&a, (const char *)data, n);
    const char *url = text, *body = "", *out;
    bool removed = false;

    if (strchr(text, '\n')) {
        body = strchr(text, '\n') + 1;
        text[strcspn(text, "\n")] = '\0';
    }
    secrets_learn(s, secret, sizeof secret - 1);
    out = redact_url(s, &a, url);
    assert(out && !strstr(out, secret));
    out = redact_header(s, &a, "X-Thing", body, true);
    assert(!out || !strstr(out, secret));
    out = redact_header(s, &a, "Authorization",
                        arena_printf(&a, "Bearer %s", secret), true);
    assert(!out || !strstr(out, secret));
    out = redact_body(s, &a, url, body, n & 1, &removed);
    assert(out && !strstr(out, secret));
    out = redact_body(
        s, &a, url,
        arena_printf(&a, "{\"name\": \"x\", \"k\": \"%s\"}", secret), false,
        &removed);
    assert(!strstr(out, secret));
    secrets_free(s);
    arena_done(&a);
    return 0;
}
