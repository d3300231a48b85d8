/*
 * redact.c - see redact.h.
 *
 * Better too much than too little: a recording goes into bug reports and
 * repositories.  A third party's plug-in has headers that nobody thought of
 * here, so our headers are allowed by name.
 */
#include "redact.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/alloc.h"
#include "../base/buf.h"

enum { LONG_WORD = 32 };

/* ---- "a=1&b=2" */

static void redact_pairs(struct secrets *s, struct buf *b, const char *text,
                         size_t n, bool *removed)
{
    /* The tracking URLs of Azure's operations are signed, in four letters. */
    bool azure = memmem(text, n, "&t=", 3) && memmem(text, n, "&c=", 3) &&
                 memmem(text, n, "&s=", 3) && memmem(text, n, "&h=", 3);
    for (size_t i = 0, len; i <= n; i += len + 1) {
        const char *pair = text + i;
        const char *amp = memchr(pair, '&', n - i);
        len = amp ? (size_t)(amp - pair) : n - i;
        const char *eq = memchr(pair, '=', len);
        size_t name = eq ? (size_t)(eq - pair) : len;
        if (i > 0)
            buf_str(b, "&");
        if (eq && name + 1 < len &&
            (secret_name(pair, name) ||
             (azure && name == 1 && strchr("csh", *pair)))) {
            secrets_learn(s, eq + 1, len - name - 1);
            buf_add(b, pair, name + 1);
            buf_str(b, REDACTED);
            *removed = true;
        } else {
            buf_add(b, pair, len);
        }
    }
}

static const char *settle(const struct secrets *s, struct arena *a,
                          struct buf *b, bool *removed)
{
    const char *text = arena_strdup(a, b->s);
    buf_done(b);
    return secrets_scrub(s, a, text, removed);
}

static const char *url_settle(struct secrets *s, struct arena *a,
                              const char *url, bool *removed)
{
    const char *host = strstr(url, "://"), *query = strchr(url, '?');
    struct buf b;
    buf_init(&b, (size_t)1 << 30);
    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *at = memchr(host, '@', authority);
    size_t head = query ? (size_t)(query - url) : strlen(url);
    if (at && (!query || at < query)) {
        secrets_learn(s, host, (size_t)(at - host));
        buf_add(&b, url, (size_t)(host - url));
        buf_str(&b, REDACTED);
        buf_add(&b, at, head - (size_t)(at - url));
        *removed = true;
    } else {
        buf_add(&b, url, head);
    }
    if (query) {
        buf_str(&b, "?");
        redact_pairs(s, &b, query + 1, strlen(query + 1), removed);
    }
    return settle(s, a, &b, removed);
}

const char *redact_url(struct secrets *s, struct arena *a, const char *url)
{
    bool removed = false;
    return url_settle(s, a, url, &removed);
}

/* ---- headers */

const char *redact_header(struct secrets *s, struct arena *a, const char *name,
                          const char *value, bool ours)
{
    static const char *const plain[] = {"accept",
                                        "content-type",
                                        "content-length",
                                        "host",
                                        "if-match",
                                        "if-none-match",
                                        "metadata",
                                        "metadata-flavor",
                                        "prefer",
                                        "user-agent",
                                        "x-amz-date",
                                        "x-amz-target",
                                        "x-amz-content-sha256",
                                        "x-aws-ec2-metadata-token-ttl-seconds",
                                        "x-ms-client-request-id",
                                        "x-ms-return-client-request-id",
                                        "x-goog-api-client"};
    bool secret = secret_name(name, strlen(name)), known = !ours, removed;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !known; i++)
        known = strcasecmp(plain[i], name) == 0;
    if (secret && strncmp(value, "AWS4-", 5) != 0) { /* made anew each time */
        const char *word = strrchr(value, ' ');      /* "Bearer ..." */
        secrets_learn(s, value, strlen(value));
        if (word)
            secrets_learn(s, word + 1, strlen(word + 1));
    }
    if (secret || !known)
        return value[0] != '\0' ? REDACTED : value;
    /* An operation is followed by its URL. */
    if (strstr(value, "://"))
        return redact_url(s, a, value);
    return secrets_scrub(s, a, value, &removed);
}

/* ---- JSON */

static bool remove_text(struct secrets *s, json_t *v)
{
    const char *text = json_string_value(v);
    if (!text || text[0] == '\0' || strcmp(text, REDACTED) == 0)
        return false;
    secrets_learn(s, text, strlen(text));
    json_string_set(v, REDACTED);
    return true;
}

/* {"key": "kube-env", "value": ...}, as tags and metadata are written. */
static bool pair_is_secret(const json_t *o)
{
    static const char *const names[] = {"key", "Key", "name", "Name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *k = json_string_value(json_object_get(o, names[i]));
        if (k && secret_name(k, strlen(k)))
            return true;
    }
    return false;
}

static bool redact_json(struct secrets *s, json_t *j, bool secret)
{
    bool removed = false;
    const char *key;
    json_t *v;
    size_t i;
    if (json_is_string(j))
        return secret && remove_text(s, j);
    json_array_foreach(j, i, v)
        removed |= redact_json(s, v, secret);
    if (!json_is_object(j))
        return removed;
    bool pair = pair_is_secret(j);
    json_object_foreach(j, key, v)
        removed |= redact_json(s, v,
                               secret_name(key, strlen(key)) ||
                                   (pair && strcasecmp(key, "value") == 0));
    return removed;
}

static const char *json_body(struct secrets *s, struct arena *a,
                             const char *body, bool *removed)
{
    /* Nested deeper than jansson goes, or no JSON: as plain text. */
    json_t *j = json_loads(body, 0, NULL);
    if (j && redact_json(s, j, false)) {
        char *text = mem_must(json_dumps(j, JSON_COMPACT));
        body = arena_strdup(a, text);
        free(text);
        *removed = true;
    }
    json_decref(j);
    return secrets_scrub(s, a, body, removed);
}

/* ---- XML: <Name>text</Name> */

static const char *xml_body(struct secrets *s, struct arena *a,
                            const char *body, bool *removed)
{
    struct buf b;
    const char *at = body;
    buf_init(&b, (size_t)1 << 30);
    for (const char *open; (open = strchr(at, '<'));) {
        size_t name = strcspn(open + 1, " \t\r\n/>");
        const char *text = strchr(open, '>');
        if (!text)
            break;
        size_t len = strcspn(++text, "<");
        buf_add(&b, at, (size_t)(text - at));
        at = text;
        if (len == 0 || text[len] == '\0' || text[-2] == '/' ||
            open[1] == '/' || !secret_name(open + 1, name) ||
            strspn(text, " \t\r\n") >= len)
            continue;
        secrets_learn(s, text, len);
        buf_str(&b, REDACTED);
        at = text + len;
        *removed = true;
    }
    buf_str(&b, at);
    return settle(s, a, &b, removed);
}

/* ---- bodies */

static bool is_form(const char *body)
{
    size_t name = strspn(body, "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%+");
    return name > 0 && body[name] == '=' &&
           body[strcspn(body, " \t\r\n{<\"")] == '\0';
}

/* Metadata servers hand a token out as plain text: by the name of what was
 * asked for, or one long word.  Under a URL that ends in '/' they list names. */
static bool hands_out_secret(const char *url, const char *text)
{
    size_t end = strcspn(url, "?#"), from = end;
    while (from > 0 && url[from - 1] != '/')
        from--;
    size_t word = strcspn(text, " \t\r\n"), n = end - from;
    return text[word + strspn(text + word, "\r\n")] == '\0' && n > 0 &&
           (word >= LONG_WORD || memmem(url + from, n, "token", 5));
}

const char *redact_body(struct secrets *s, struct arena *a, const char *url,
                        const char *body, bool ours, bool *ret_removed)
{
    const char *first = body + strspn(body, " \t\r\n");
    struct buf b;
    *ret_removed = false;
    if (*first == '{' || *first == '[')
        return json_body(s, a, body, ret_removed);
    if (*first == '<')
        return xml_body(s, a, body, ret_removed);
    if (!ours && *first != '\0' && hands_out_secret(url, first)) {
        secrets_learn(s, first, strcspn(first, "\r\n"));
        *ret_removed = true;
        return REDACTED;
    }
    if (is_form(body)) {
        buf_init(&b, (size_t)1 << 30);
        redact_pairs(s, &b, body, strlen(body), ret_removed);
        return settle(s, a, &b, ret_removed);
    }
    return secrets_scrub(s, a, body, ret_removed);
}
