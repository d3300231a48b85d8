/*
 * recording_format.c - see recording_format.h.
 *
 * A line is made for people too: texts stay texts, and an exchange can be
 * edited by hand to try what a plug-in makes of it.
 */
#include "recording_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            buf_add(&b,
                    (char[]){(char)(0xc0 | v >> 6), (char)(0x80 | (v & 0x3f))},
                    2);
    }
    json_t *j = json_string(b.s);
    buf_done(&b);
    return j;
}

static const char *json_bytes(struct arena *a, const json_t *j, size_t *ret_n)
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

/* ---- writing */

static json_t *headers_json(struct secrets *s, struct arena *a,
                            const struct davit_kv *kv, size_t n, bool ours)
{
    json_t *v = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *value = redact_header(s, a, kv[i].key, kv[i].value, ours);
        json_t *text = json_string(value);
        json_array_append_new(
            v, json_pack("[s, o]", kv[i].key,
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
    json_object_set_new(o, "body",
                        json_string(redact_body(s, a, url, json_string_value(j),
                                                ours, &removed)));
    json_decref(j);
    return removed;
}

static void call_put(json_t *line, const struct recording_call *l)
{
    json_object_set_new(line, "call", json_integer((json_int_t)l->id));
    if (l->request_id[0] == '\0')
        return;
    json_object_set_new(
        line, "launch",
        json_pack("{s:s, s:s, s:s, s:b}", "request_id", l->request_id, "type",
                  l->type, "zone", l->zone, "spot", (int)l->spot));
}

char *exchange_write(struct secrets *s, const struct recording_call *call,
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
    bool ours = body_put(s, &a, request, x->url, x->body_len > 0 ? x->body : "",
                         x->body_len, true);
    const char *url = redact_url(s, &a, x->url);
    json_object_set_new(request, "method",
                        json_string(x->method ? x->method : "GET"));
    json_object_set_new(request, "url", json_string(url));
    json_object_set_new(request, "headers", headers);
    if (failed) {
        bool removed;
        json_object_set_new(reply, "status",
                            json_string(status_name(failed->status)));
        json_object_set_new(
            reply, "text",
            json_string(redact_body(s, &a, "", failed->text, true, &removed)));
    } else {
        json_object_set_new(reply, "status", json_integer(x->status));
        json_object_set_new(
            reply, "headers",
            headers_json(s, &a, x->reply_headers, x->n_reply_headers, false));
        token = body_put(s, &a, reply, x->url, x->reply, x->reply_len, false);
    }
    /* A form with secrets asks for a token, whatever came of it. */
    const char *body = json_string_value(json_object_get(request, "body"));
    const char *action = exchange_action(body);
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
                               const json_t *failed, struct exchange *t)
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

const char *exchange_read(struct arena *a, const char *line, size_t n,
                          struct exchange *ret)
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
    *ret = (struct exchange){
        .at_ms = clock_from_iso(text_of(a, j, "at")),
        .request_id = text_of(a, launch, "request_id"),
        .type = text_of(a, launch, "type"),
        .zone = text_of(a, launch, "zone"),
        .spot = json_is_true(json_object_get(launch, "spot")),
        .token = json_is_true(json_object_get(j, "token")),
        .call = (uint64_t)json_integer_value(json_object_get(j, "call"))};
    if (!json_is_object(j))
        wrong = "it is no JSON object";
    else if (*method == '\0' || *url == '\0')
        wrong = "\"request\" needs a method and a url";
    else if (ret->at_ms == 0)
        wrong = "\"at\" must be a time such as 2026-11-21T10:11:12.345Z";
    else
        wrong = answer_read(a, reply, failed, ret);
    if (!wrong) {
        ret->key = exchange_key(a, method, url, body);
        ret->host = exchange_host(a, url);
        ret->write = !ret->token &&
                     !exchange_reads(method, url, body, headers, n_headers);
    }
    json_decref(j);
    return wrong;
}
