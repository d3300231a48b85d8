/*
 * http_error.c - what is wrong with an exchange, as a sentence and a status.
 * See http_inside.h.
 */
#include "http_inside.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The other side in a message: its label, or the URL with no user in it (it
 * may be a password), no query and no fragment. */
static const char *shown(const struct http_exchange *x, char *buf, size_t n)
{
    if (x->label)
        return x->label;
    const char *url = x->url;
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t end = strcspn(host, "?#");
    size_t slash = strcspn(host, "/?#");
    const char *at = NULL;
    for (size_t i = 0; i < slash; i++)
        if (host[i] == '@')
            at = host + i;
    const char *from = at ? at + 1 : host;
    int scheme = (int)(host - url), rest = (int)(host + end - from);
    snprintf(buf, n, "%.*s%.*s", scheme, url, rest, from);
    return buf;
}

/* What we ended ourselves; OK: it was curl. */
static enum status given_up(const struct http_client *c, const struct reply *r,
                            const char *url, struct err *err)
{
    if (r->too_long_body)
        return err_set(err, ST_BROKEN,
                       "%s sent more than %zu bytes, the most that is read of "
                       "one reply",
                       url, c->body.max);
    if (r->too_long_headers)
        return err_set(err, ST_BROKEN,
                       "%s sent more than %u headers or %zu bytes of them", url,
                       MAX_HEADERS, MAX_HEADER_BYTES);
    if (c->sent_twice)
        return err_set(err, ST_RETRY,
                       "the kept connection to %s broke before the reply: "
                       "whether it was done is not known",
                       url);
    return ST_OK;
}

enum status http_failed(struct http_client *c, const struct http_exchange *x,
                        CURLcode code, const struct reply *r, int64_t took_ms,
                        struct err *err)
{
    char buf[200];
    const char *url = shown(x, buf, sizeof buf);
    const char *why = c->error[0] ? c->error : curl_easy_strerror(code);
    enum status s = given_up(c, r, url, err);
    if (s)
        return s;
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return err_set(err, ST_CANCELLED, "the request to %s was cancelled",
                       url);
    case CURLE_UNSUPPORTED_PROTOCOL: /* the URL's was looked at before */
    case CURLE_WEIRD_SERVER_REPLY:
        return err_set(err, ST_RETRY, "what %s sent is not HTTP: %s", url, why);
    case CURLE_URL_MALFORMAT:
        return err_set(err, ST_INVALID, "%s is not a URL that can be asked: %s",
                       url, why);
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(err, ST_INVALID, "the CA file %s cannot be used: %s",
                       x->ca_file ? x->ca_file : "of the system", why);
    case CURLE_PEER_FAILED_VERIFICATION:
        return err_set(err, ST_INVALID,
                       "the certificate of %s is not trusted: %s; if it is "
                       "signed by a CA of your own, name that CA's file",
                       url, why);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_CIPHER:
        return err_set(err, ST_INVALID, "TLS to %s cannot be set up: %s", url,
                       why);
    case CURLE_OPERATION_TIMEDOUT:
        if (r->streaming)
            return err_set(err, ST_RETRY, "%s was silent for %lld s", url,
                           (long long)r->sink->idle_ms / 1000);
        return err_set(err, ST_RETRY, "no answer from %s within %lld ms", url,
                       (long long)took_ms);
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(err, ST_RETRY,
                       "the host name of %s cannot be resolved: %s", url, why);
    case CURLE_COULDNT_CONNECT:
        return err_set(err, ST_RETRY, "no connection to %s: %s", url, why);
    default:
        return err_set(err, ST_RETRY, "the exchange with %s broke off: %s", url,
                       why);
    }
}

enum status http_check(const struct http_exchange *x, bool *ret_tls,
                       struct err *err)
{
    char url[200];
    *ret_tls = strncasecmp(x->url, "https://", 8) == 0;
    if (!*ret_tls && strncasecmp(x->url, "http://", 7) != 0)
        return err_set(err, ST_INVALID,
                       "\"%s\" must begin with http:// or https://",
                       shown(x, url, sizeof url));
    for (const char *p = x->url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return err_set(err, ST_INVALID,
                           "\"%s\" has a space or a control character in it: "
                           "escape it as %%%02X",
                           shown(x, url, sizeof url), (unsigned char)*p);
    if (x->method &&
        (!x->method[0] || strlen(x->method) > 16 ||
         strspn(x->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(x->method)))
        return err_set(err, ST_INVALID, "\"%.20s\" is not an HTTP method",
                       x->method);
    if (!*ret_tls && !http_credentials_stay(x))
        return err_set(err, ST_INVALID,
                       "%s is not asked: credentials go over http:// to this "
                       "machine or a metadata service only; use https://",
                       shown(x, url, sizeof url));
    return ST_OK;
}
