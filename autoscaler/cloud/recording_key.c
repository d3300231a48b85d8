/*
 * recording_key.c - what a recorded exchange is found by, and whether it
 * changed something.  See recording_format.h.
 */
#include "recording_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../base/text.h"

#define KEY_MAX ((size_t)1 << 30)

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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
        VEC_PUSH(a, &pairs,
                 is_deed_id(text + i, name)
                     ? arena_printf(a, "%.*s=(id)", (int)name, text + i)
                     : text_decode(a, text + i, len, NULL));
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

const char *exchange_host(struct arena *a, const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return arena_strndup(a, host, (size_t)(path_of(url) - host));
}

const char *exchange_key(struct arena *a, const char *method, const char *url,
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
    static const char *const words[] = {"describe", "list",  "get",
                                        "search",   "query", "batchget"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

const char *exchange_action(const char *body)
{
    const char *at = strncmp(body, "Action=", 7) == 0
                         ? body
                         : strstr(body, "&Action=");
    return at ? strchr(at, '=') + 1 : "";
}

bool exchange_reads(const char *method, const char *url, const char *body,
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
    return begins_as_read(last) || begins_as_read(exchange_action(body));
}
