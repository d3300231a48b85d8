/*
 * http_set.c - see http_inside.h.
 */
#include "http_inside.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/alloc.h"

#define PEER_GONE_MS 30000 /* unanswered probes or data for so long */

/* The host of a URL, with its brackets, user left out; *ret_n its length. */
static const char *host_of(const char *url, size_t *ret_n)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");

    for (size_t i = 0; i < n; i++)
        if (host[i] == '@') {
            host += i + 1;
            n -= i + 1;
            i = 0;
        }
    if (*host == '[')
        n = strcspn(host, "]") + 1;
    else
        n = strcspn(host, ":/?#");
    *ret_n = n;
    return host;
}

const char *http_set_url(const struct http_exchange *x, struct arena *arena)
{
    size_t n;
    const char *host;

    if (!x->tls || !x->tls->server_name)
        return x->url;
    host = host_of(x->url, &n);
    return arena_printf(arena, "%.*s%s%s", (int)(host - x->url), x->url,
                        x->tls->server_name, host + n);
}

static void set_files(CURL *e, const struct http_exchange *x)
{
    if (x->ca_file)
        curl_easy_setopt(e, CURLOPT_CAINFO, x->ca_file);
    if (x->cert_file)
        curl_easy_setopt(e, CURLOPT_SSLCERT, x->cert_file);
    if (x->key_file)
        curl_easy_setopt(e, CURLOPT_SSLKEY, x->key_file);
}

static void set_blob(CURL *e, CURLoption option, const struct http_blob *b)
{
    struct curl_blob blob = {(void *)(uintptr_t)b->p, b->n, CURL_BLOB_NOCOPY};

    if (b->n)
        curl_easy_setopt(e, option, &blob);
}

static void set_blobs(CURL *e, const struct http_exchange *x,
                      struct arena *arena)
{
    const struct http_tls *t = x->tls;

    set_blob(e, CURLOPT_CAINFO_BLOB, &t->ca);
    set_blob(e, CURLOPT_SSLCERT_BLOB, &t->cert);
    set_blob(e, CURLOPT_SSLKEY_BLOB, &t->key);
    if (t->insecure) {
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (t->server_name) {
        size_t n;
        const char *host = host_of(x->url, &n);
        /* the list and its text live as long as the arena */
        struct curl_slist *to = ARENA_NEW(arena, struct curl_slist);

        to->data = arena_printf(arena, "::%.*s:", (int)n, host);
        curl_easy_setopt(e, CURLOPT_CONNECT_TO, to);
    }
}

void http_set_transport(CURL *e, const struct http_exchange *x, bool tls,
                        struct arena *arena)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(e, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_USERAGENT, "davit/" DAVIT_VERSION);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    set_files(e, x);
    if (x->tls)
        set_blobs(e, x, arena);
    if (x->proxy)
        curl_easy_setopt(e, CURLOPT_PROXY, x->proxy);
    if (x->unix_socket)
        curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, x->unix_socket);
    if (http_goes_direct(x))
        curl_easy_setopt(e, CURLOPT_PROXY, "");
    /* HTTP/2 without TLS passes no forward proxy, and a socket file is here */
    if (x->unix_socket || (x->http2_only && !tls))
        curl_easy_setopt(e, CURLOPT_PROXY, "");
    if (x->http2_only) {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                         tls ? (long)CURL_HTTP_VERSION_2TLS
                             : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
        /* with a content-length curl stops reading before the trailers */
        curl_easy_setopt(e, CURLOPT_IGNORE_CONTENT_LENGTH, 1L);
    } else {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    }
}

static int keep_alive(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    static const struct {
        int option, value;
    } v[] = {
        {TCP_KEEPIDLE, 10},
        {TCP_KEEPINTVL, 5},
        {TCP_KEEPCNT, 4},
        {TCP_USER_TIMEOUT, PEER_GONE_MS},
    };
    int one = 1;

    (void)arg;
    (void)purpose;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        setsockopt(fd, IPPROTO_TCP, v[i].option, &v[i].value,
                   sizeof v[i].value);
    return CURL_SOCKOPT_OK;
}

void http_set_stream(CURL *e)
{
    curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, keep_alive);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 0L); /* it sets its own */
    /* one stream on a connection: HTTP/2 would only add its windows */
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
}

/* ---- headers and method */

/* One "name: value" line for curl; false when it could smuggle another. */
static bool add_header(struct curl_slist **list, struct arena *arena,
                       const char *key, const char *value)
{
    if (!key[0] || strpbrk(key, ":\r\n") || strpbrk(value, "\r\n"))
        return false;
    const char *line = value[0] ? arena_printf(arena, "%s: %s", key, value)
                                : arena_printf(arena, "%s;", key);
    *list = mem_must(curl_slist_append(*list, line));
    return true;
}

static bool has_header(const struct http_exchange *x, const char *name)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (strcasecmp(x->headers[i].key, name) == 0)
            return true;
    return false;
}

bool http_set_headers(const struct http_exchange *x, struct arena *arena,
                      struct curl_slist **list, struct err *err)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (!add_header(list, arena, x->headers[i].key, x->headers[i].value)) {
            err_set(err, ST_INVALID,
                    "a request header's name must not be empty, and neither "
                    "its name nor its value may contain a line break (header "
                    "%zu of %zu)",
                    i + 1, x->n_headers);
            return false;
        }
    /* what curl would add by itself, and servers then wait for or mistake */
    static const char *const quiet[] = {"Expect:", "Content-Type:"};
    for (size_t i = 0; i < 2; i++) {
        if (i == 1 && has_header(x, "content-type"))
            break;
        *list = mem_must(curl_slist_append(*list, quiet[i]));
    }
    return true;
}

void http_set_method(CURL *e, const struct http_exchange *x)
{
    const char *method = x->method ? x->method : "GET";
    if (x->body_len || strcmp(method, "POST") == 0) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)x->body_len);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->body ? x->body : "");
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
}
