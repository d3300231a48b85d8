/*
 * files.c - what is part of the program: the page for people, and the API's
 * description.
 *
 * The page brings its style and its scripts in files of its own, and its policy
 * lets a browser run nothing else, whatever text comes from outside.  A file's
 * ETag is its digest, so a browser asks once and is told "the same" afterwards,
 * also by the next version if it is.
 */
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../base/gzip.h"
#include "../inside.h"
#include "files.h"

#define POLICY \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src " \
    "'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " \
    "frame-ancestors 'none'"

enum { FILES_MAX = 32 };

/* For the life of the process; made at the first call. */
static struct {
    char etag[2][40]; /* as it is, and compressed */
    struct buf small; /* compressed; empty: it is not smaller */
} ready[FILES_MAX];

static void make_ready(void)
{
    for (uint32_t i = 0; i < n_page_files && i < FILES_MAX; i++) {
        const struct page_file *f = &page_files[i];
        size_t n = (size_t)(f->to - f->from);
        unsigned char d[SHA256_DIGEST_LENGTH];
        char hex[25];

        SHA256((const unsigned char *)f->from, n, d);
        for (int k = 0; k < 12; k++)
            snprintf(hex + 2 * k, 3, "%02x", d[k]);
        snprintf(ready[i].etag[0], sizeof ready[i].etag[0], "\"%s\"", hex);
        snprintf(ready[i].etag[1], sizeof ready[i].etag[1], "\"%s-gz\"", hex);
        buf_init(&ready[i].small, n);
        if (!gzip(f->from, n, 9, &ready[i].small))
            buf_done(&ready[i].small);
    }
}

static void reply_file(struct exchange *ex, uint32_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *match = exchange_header(ex, MHD_HTTP_HEADER_IF_NONE_MATCH);
    const struct page_file *f = &page_files[i];
    bool small;
    bool same;

    pthread_once(&once, make_ready);
    small = exchange_takes_gzip(ex) && ready[i].small.n;
    same = match && strstr(match, ready[i].etag[small]);
    ex->response = MHD_create_response_from_buffer(
        same    ? 0
        : small ? ready[i].small.n
                : (size_t)(f->to - f->from),
        (void *)(uintptr_t)(small ? ready[i].small.s : f->from),
        MHD_RESPMEM_PERSISTENT);
    ex->code = same ? 304 : 200;
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_ETAG,
                            ready[i].etag[small]);
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            "no-cache");
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_VARY,
                            "Accept-Encoding");
    if (!same)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                f->type);
    if (!same && small)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_CONTENT_ENCODING,
                                "gzip");
    exchange_headers(ex);
}

static void reply_named(struct exchange *ex, const char *name)
{
    for (uint32_t i = 0; i < n_page_files; i++)
        if (strcmp(page_files[i].name, name) == 0) {
            reply_file(ex, i);
            return;
        }
    exchange_error(ex, 404, "NOT_FOUND", name, "the page has no such file");
}

void get_openapi(struct exchange *ex)
{
    reply_named(ex, "openapi.json");
}

void get_page_file(struct exchange *ex)
{
    reply_named(ex, ex->arg);
}

void get_page(struct exchange *ex)
{
    reply_named(ex, "index.html");
    MHD_add_response_header(ex->response, "Content-Security-Policy", POLICY);
    MHD_add_response_header(ex->response, "Referrer-Policy", "no-referrer");
}
