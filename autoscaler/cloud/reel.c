/*
 * reel.c - see reel.h.
 *
 * A line is made for people too: texts stay texts, and an exchange can be
 * edited by hand to try what a plug-in makes of it.
 */
#include "reel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../base/clock.h"

#define KEY_MAX ((size_t)1 << 30)

/* ---- bytes as text: those that are no UTF-8 become U+0080 ... U+0100 */

json_t *bytes_json(const char *s, size_t n)
{
    struct buf b;
    buf_init(&b, KEY_MAX);
    for (size_t i = 0; i < n; i++) {
        unsigned v = s[i] == '\0' ? 0x100 : (unsigned char)s[i];
        if (v < 0x80)
            buf_add(&b, &s[i], 1);
        else
            buf_add(&b, (char[]){(char)(0xc0 | v >> 6),
                                 (char)(0x80 | (v & 0x3f))}, 2);
    }
    json_t *j = json_string(b.s);
    buf_done(&b);
    return j;
}

static const char *json_bytes(struct arena *a, const json_t *j,
                              size_t *ret_n)
{
    const char *s = json_string_value(j);
    size_t n = 0, len = json_string_length(j);
    char *out = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++) {
        unsigned v = (unsigned char)s[i];
        if (v >= 0xc0 && i + 1 < len)
            v = (v & 0x1f) << 6 | ((unsigned char)s[++i] & 0x3f);
        out[n++] = (char)(v == 0x100 ? 0 : v);
    }
    *ret_n = n;
    return out;
}

/* ---- what it is found by */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *decoded(struct arena *a, const char *s, size_t n)
{
    char *out = arena_strndup(a, s, n), *to = out;
    unsigned v;
    for (const char *p = out; *p != '\0'; p++)
        if (*p == '%' && isxdigit((unsigned char)p[1]) &&
            isxdigit((unsigned char)p[2]) && sscanf(p + 1, "%2x", &v) == 1 &&
            v != 0) {
            *to++ = (char)v;
            p += 2;
        } else {
            *to++ = *p;
        }
    *to = '\0';
    return out;
}

/* An idempotency key: another one for each deed, and so for each replay. */
static bool is_deed_id(const char *name, size_t n)
{
    static const char *const names[] = {"requestId", "ClientToken",
                                        "clientToken", "clientRequestToken"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return true;
    return false;
}

static void key_pairs(struct arena *a, struct buf *b, const char *text,
                      size_t n)
{
    VEC(const char *) pairs = {0};
    for (size_t i = 0, len; i < n; i += len + 1) {
        const char *amp = memchr(text + i, '&', n - i);
        len = amp ? (size_t)(amp - text) - i : n - i;
        const char *eq = memchr(text + i, '=', len);
        size_t name = eq ? (size_t)(eq - text) - i : 0;
        VEC_PUSH(a, &pairs, is_deed_id(text + i, name)
                                ? arena_printf(a, "%.*s=(id)", (int)name,
                                               text + i)
                                : decoded(a, text + i, len));
    }
    if (pairs.n > 0)
        qsort(pairs.v, pairs.n, sizeof *pairs.v, by_text);
    for (uint32_t i = 0; i < pairs.n; i++) {
        buf_str(b, i > 0 ? "&" : "");
        buf_str(b, pairs.v[i]);
    }
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* The length of the time of the day that begins here: 2026-11-21T10:11:12.5Z,
 * 20261121T101112Z, or seconds or milliseconds since 1970. */
static size_t time_len(const char *s)
{
    size_t n = digits(s);
    if (n == 4 && s[4] == '-' && digits(s + 5) == 2 && s[7] == '-' &&
        digits(s + 8) == 2 && s[10] == 'T' && digits(s + 11) == 2 &&
        s[13] == ':' && digits(s + 14) == 2 && s[16] == ':' &&
        digits(s + 17) == 2) {
        n = 19;
        if (s[n] == '.')
            n += 1 + digits(s + n + 1);
        return n + (s[n] == 'Z');
    }
    if (n == 8 && s[8] == 'T' && digits(s + 9) == 6 && s[15] == 'Z')
        return 16;
    if ((n == 10 || n == 13) && *s == '1' && s[1] >= '5' &&
        !isalnum((unsigned char)s[n]))
        return n;
    return 0;
}

static char *without_times(struct arena *a, const char *s)
{
    struct buf b;
    char before = ' ';
    buf_init(&b, KEY_MAX);
    for (size_t n; *s != '\0'; s += n) {
        n = isalnum((unsigned char)before) ? 0 : time_len(s);
        if (n > 0)
            buf_str(&b, "(time)");
        else
            buf_add(&b, s, n = 1);
        before = s[n - 1];
    }
    char *text = arena_strdup(a, b.s);
    buf_done(&b);
    return text;
}

static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return host + strcspn(host, "/?#");
}

const char *take_host(struct arena *a, const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return arena_strndup(a, host, (size_t)(path_of(url) - host));
}

const char *take_key(struct arena *a, const char *method, const char *url,
                     const char *body)
{
    const char *path = path_of(url);
    size_t len = strcspn(path, "?#");
    struct buf b;
    json_t *j = NULL;
    char *text;
    buf_init(&b, KEY_MAX);
    buf_printf(&b, "%s %.*s?", method, (int)len, *path == '/' ? path : "/");
    if (path[len] == '?')
        key_pairs(a, &b, path + len + 1, strcspn(path + len + 1, "#"));
    buf_str(&b, " ");
    if (body[0] == '{' || body[0] == '[')
        j = json_loads(body, 0, NULL);
    if (j) {
        const char *name;
        json_t *v;
        json_object_foreach(j, name, v)
            if (json_is_string(v) && is_deed_id(name, strlen(name)))
                json_string_set(v, "(id)");
        text = mem_must(json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS));
        buf_str(&b, text);
        free(text);
        json_decref(j);
    } else if (strchr(body, '=') && !strpbrk(body, " \n<")) {
        key_pairs(a, &b, body, strlen(body));
    } else {
        buf_str(&b, body);
    }
    text = without_times(a, b.s);
    buf_done(&b);
    return text;
}

/* ---- reads and writes */

static bool begins_as_read(const char *name)
{
    static const char *const words[] = {"describe", "list", "get", "search",
                                        "query", "batchget"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static const char *action_of(const char *body)
{
    const char *at = strncmp(body, "Action=", 7) == 0 ? body
                                                      : strstr(body, "&Action=");
    return at ? strchr(at, '=') + 1 : "";
}

/* Does this ask for something and change nothing? */
static bool take_reads(const char *method, const char *url, const char *body,
                       const struct davit_kv *headers, size_t n_headers)
{
    if (strcmp(method, "POST") != 0)
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    const char *path = path_of(url), *last = path;
    for (const char *p = path; *p != '\0' && *p != '?' && *p != '#'; p++)
        if (*p == '/' || *p == ':')
            last = p + 1;
    for (size_t i = 0; i < n_headers; i++) {
        const char *point = strchr(headers[i].value, '.');
        if (strcasecmp(headers[i].key, "x-amz-target") == 0 && point)
            return begins_as_read(point + 1);
    }
    return begins_as_read(last) || begins_as_read(action_of(body));
}

/* ---- writing */

static json_t *headers_json(struct secrets *s, struct arena *a,
                            const struct davit_kv *kv, size_t n, bool ours)
{
    json_t *v = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *value = redact_header(s, a, kv[i].key, kv[i].value, ours);
        json_t *text = json_string(value);
        json_array_append_new(v, json_pack(
            "[s, o]", kv[i].key,
            text ? text : bytes_json(value, strlen(value))));
    }
    return v;
}

/* "body" of o, and "bytes" when it is no text.  True: it held secrets. */
static bool body_put(struct secrets *s, struct arena *a, json_t *o,
                     const char *url, const char *body, size_t n, bool ours)
{
    json_t *j = !memchr(body, '\0', n) ? json_stringn(body, n) : NULL;
    bool removed = false;
    if (!j) {
        j = bytes_json(body, n);
        json_object_set_new(o, "bytes", json_true());
    }
    json_object_set_new(o, "body", json_string(redact_body(
        s, a, url, json_string_value(j), ours, &removed)));
    json_decref(j);
    return removed;
}

static void call_put(json_t *line, const struct tape_call *l)
{
    json_object_set_new(line, "call", json_integer((json_int_t)l->id));
    if (l->request_id[0] == '\0')
        return;
    json_object_set_new(line, "launch", json_pack(
        "{s:s, s:s, s:s, s:b}", "request_id", l->request_id, "type", l->type,
        "zone", l->zone, "spot", (int)l->spot));
}

char *take_write(struct secrets *s, const struct tape_call *call,
                 const struct http_exchange *x, const struct err *failed,
                 int64_t at_ms, int64_t took_ms)
{
    struct arena a = {0};
    char at[32];
    json_t *request = json_object(), *reply = json_object();
    json_t *line = json_pack("{s:s, s:I, s:o, s:o}", "at",
                             clock_iso(at_ms, at, sizeof at), "took_ms",
                             (json_int_t)took_ms, "request", request,
                             failed ? "failed" : "reply", reply);
    bool token = false;
    if (call)
        call_put(line, call);
    /* Headers and body first: they teach what the URL may repeat. */
    json_t *headers = headers_json(s, &a, x->headers, x->n_headers, true);
    bool ours = body_put(s, &a, request, x->url,
                         x->body_len > 0 ? x->body : "", x->body_len, true);
    const char *url = redact_url(s, &a, x->url);
    json_object_set_new(request, "method",
                        json_string(x->method ? x->method : "GET"));
    json_object_set_new(request, "url", json_string(url));
    json_object_set_new(request, "headers", headers);
    if (failed) {
        bool removed;
        json_object_set_new(reply, "status",
                            json_string(status_name(failed->status)));
        json_object_set_new(reply, "text", json_string(redact_body(
            s, &a, "", failed->text, true, &removed)));
    } else {
        json_object_set_new(reply, "status", json_integer(x->status));
        json_object_set_new(reply, "headers", headers_json(
            s, &a, x->reply_headers, x->n_reply_headers, false));
        token = body_put(s, &a, reply, x->url, x->reply, x->reply_len, false);
    }
    /* A form with secrets asks for a token, whatever came of it. */
    const char *body = json_string_value(json_object_get(request, "body"));
    const char *action = action_of(body);
    if (token || (ours && body[0] != '{' &&
                  (*action == '\0' || strncmp(action, "Assume", 6) == 0)))
        json_object_set_new(line, "token", json_true());
    char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    arena_done(&a);
    return text;
}

/* ---- reading */

static const char *text_of(struct arena *a, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return arena_strdup(a, s);
}

static int64_t time_of(const char *iso)
{
    struct tm tm = {0};
    long ms = 0;
    const char *rest = strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        return -1;
    if (*rest == '.')
        ms = strtol(rest + 1, NULL, 10);
    return (int64_t)timegm(&tm) * 1000 + ms;
}

static size_t headers_read(struct arena *a, const json_t *v,
                           struct davit_kv **ret)
{
    size_t n = json_array_size(v), kept = 0;
    *ret = ARENA_ARRAY(a, struct davit_kv, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(v, i);
        const char *key = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (key && value)
            (*ret)[kept++] = (struct davit_kv){arena_strdup(a, key),
                                               arena_strdup(a, value)};
    }
    return kept;
}

static const char *answer_read(struct arena *a, const json_t *reply,
                               const json_t *failed, struct take *t)
{
    if (failed) {
        const char *name = text_of(a, failed, "status");
        for (int s = 1; s < ST_COUNT; s++)
            if (strcmp(status_name((enum status)s), name) == 0)
                t->failed = (enum status)s;
        t->text = text_of(a, failed, "text");
        return t->failed != ST_OK ? NULL
                                  : "\"failed\" has no status such as RETRY";
    }
    const json_t *body = json_object_get(reply, "body");
    t->status = (int)json_integer_value(json_object_get(reply, "status"));
    if (t->status < 100 || t->status > 999 || !json_is_string(body))
        return "\"reply\" needs a status (a number) and a body (a text)";
    t->n_headers = headers_read(a, json_object_get(reply, "headers"),
                                &t->headers);
    t->body = json_is_true(json_object_get(reply, "bytes"))
                  ? json_bytes(a, body, &t->body_len)
                  : arena_strdup(a, json_string_value(body));
    if (!json_is_true(json_object_get(reply, "bytes")))
        t->body_len = strlen(t->body);
    return NULL;
}

const char *take_read(struct arena *a, const char *line, size_t n,
                      struct take *ret)
{
    json_t *j = json_loadb(line, n, 0, NULL);
    const json_t *request = json_object_get(j, "request");
    const json_t *launch = json_object_get(j, "launch");
    const json_t *reply = json_object_get(j, "reply");
    const json_t *failed = json_object_get(j, "failed");
    const char *method = text_of(a, request, "method");
    const char *url = text_of(a, request, "url");
    const char *body = text_of(a, request, "body");
    const char *wrong;
    struct davit_kv *headers;
    size_t n_headers = headers_read(a, json_object_get(request, "headers"),
                                    &headers);
    *ret = (struct take){.at_ms = time_of(text_of(a, j, "at")),
                         .request_id = text_of(a, launch, "request_id"),
                         .type = text_of(a, launch, "type"),
                         .zone = text_of(a, launch, "zone"),
                         .spot = json_is_true(json_object_get(launch, "spot")),
                         .token = json_is_true(json_object_get(j, "token")),
                         .call = (uint64_t)json_integer_value(
                             json_object_get(j, "call"))};
    if (!json_is_object(j))
        wrong = "it is no JSON object";
    else if (*method == '\0' || *url == '\0')
        wrong = "\"request\" needs a method and a url";
    else if (ret->at_ms < 0)
        wrong = "\"at\" must be a time such as 2026-11-21T10:11:12.345Z";
    else
        wrong = answer_read(a, reply, failed, ret);
    if (!wrong) {
        ret->key = take_key(a, method, url, body);
        ret->host = take_host(a, url);
        ret->write = !ret->token && !take_reads(method, url, body, headers,
                                                n_headers);
    }
    json_decref(j);
    return wrong;
}
