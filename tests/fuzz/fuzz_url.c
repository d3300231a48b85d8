/*
 * fuzz_url.c - URLs from settings and from replies, judged by us and read by
 * curl.  Held: where we would send a secret without TLS, curl goes to this
 * machine or to a metadata service, and a link that is said to lead home does.
 */
#include <assert.h>
#include <curl/curl.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "../../autoscaler/base/arena.h"
#include "../../autoscaler/base/text.h"
#include "../../autoscaler/kit/exchange.h"
#include "../../autoscaler/kit/options.h"

static char *host_of(const char *url)
{
    CURLU *u = curl_url();
    char *host = NULL;

    if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
        curl_url_get(u, CURLUPART_HOST, &host, 0);
    curl_url_cleanup(u);
    return host;
}

static void judge(const char *url)
{
    static const char home[] = "arm.example";
    char *host = host_of(url);
    size_t n = host ? strlen(host) : 0;

    if (host && strncmp(url, "http://", 7) == 0 && kit_url_safe(url))
        assert(kit_host_here(host, n));
    if (host && kit_url_below("https://arm.example", url)) {
        assert(n >= sizeof home - 1);
        assert(strcasecmp(host + n - (sizeof home - 1), home) == 0);
        assert(n == sizeof home - 1 || host[n - sizeof home] == '.');
    }
    curl_free(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = {0};
    char *text = arena_strndup(&a, (const char *)data, n), *back;
    size_t len = strlen(text);
    bool plain = len < 4000;

    /* as http_check() and KIT_URL: these never come so far */
    for (size_t i = 0; i < len; i++)
        plain = plain && (unsigned char)text[i] > ' ' && text[i] != 0x7f;
    if (plain) {
        judge(text);
        judge(arena_printf(&a, "http://127.0.0.1%s", text));
        judge(arena_printf(&a, "http://%s", text));
        judge(arena_printf(&a, "https://arm.example%s", text));
        judge(arena_printf(&a, "https://%s", text));
    }
    back = text_decode(&a, text_encode(&a, text), strlen(text_encode(&a, text)),
                       NULL);
    assert(strcmp(back, text) == 0);
    arena_done(&a);
    return 0;
}
