/*
 * page.c - the two documents that are part of the program: the page for people
 * and the API's description.
 *
 * The page's policy names its one style and its one script by their hashes: a
 * browser runs nothing else, whatever text comes from outside.
 */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "inside.h"

static void reply_static(struct exchange *ex, const char *from, const char *to,
                         const char *content_type)
{
    ex->response = MHD_create_response_from_buffer(
        (size_t)(to - from), (void *)(uintptr_t)from, MHD_RESPMEM_PERSISTENT);
    ex->code = 200;
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            content_type);
    exchange_headers(ex);
}

void get_openapi(struct exchange *ex)
{
    reply_static(ex, openapi_start, openapi_end, "application/json");
}

/* 'sha256-...' of what is between the two tags. */
static void hash_of(const char *open, const char *close, char ret[80])
{
    const char *from = strstr(page_start, open);
    const char *to = from ? strstr(from, close) : NULL;
    unsigned char digest[SHA256_DIGEST_LENGTH], text[64];

    if (!to) {
        snprintf(ret, 80, "'none'");
        return;
    }
    from += strlen(open);
    SHA256((const unsigned char *)from, (size_t)(to - from), digest);
    EVP_EncodeBlock(text, digest, sizeof digest);
    snprintf(ret, 80, "'sha256-%s'", (const char *)text);
}

static char policy[512];

static void policy_make(void)
{
    char style[80], script[80];

    hash_of("<style>", "</style>", style);
    hash_of("<script>", "</script>", script);
    snprintf(policy, sizeof policy,
             "default-src 'none'; style-src %s; script-src %s; connect-src "
             "'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
             "'none'",
             style, script);
}

void get_page(struct exchange *ex)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, policy_make);
    reply_static(ex, page_start, page_end, "text/html; charset=utf-8");
    MHD_add_response_header(ex->response, "Content-Security-Policy", policy);
    MHD_add_response_header(ex->response, "Referrer-Policy", "no-referrer");
}
