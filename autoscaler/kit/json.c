/*
 * json.c - see json.h.
 */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_AFTER_MAX_S INT64_C(86400)

const json_t *kit_json_at(const json_t *j, const char *path)
{
    char name[64];
    while (j != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");
        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        j = json_object_get(j, name);
        path += n + (path[n] == '.');
    }
    return j;
}

const char *kit_json_text(const json_t *j, const char *path)
{
    const char *s = json_string_value(kit_json_at(j, path));
    return s != NULL ? s : "";
}

int64_t kit_json_int(const json_t *j, const char *path, int64_t fallback)
{
    const json_t *v = kit_json_at(j, path);
    if (json_is_integer(v))
        return json_integer_value(v);
    const char *s = json_string_value(v);
    if (s == NULL || *s == '\0')
        return fallback;
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    return *end == '\0' && errno == 0 ? n : fallback;
}

bool kit_json_true(const json_t *j, const char *path)
{
    return json_is_true(kit_json_at(j, path));
}

json_t *kit_json_reply(const struct davit_http *x, struct davit_error *e)
{
    json_error_t at;
    json_t *j = json_loadb(x->reply_body, x->reply_len,
                           JSON_REJECT_DUPLICATES, &at);
    if (json_is_object(j))
        return j;
    json_decref(j);
    kit_error(e, DAVIT_RETRY, "BadReply",
              "the reply (HTTP %d, %zu bytes) is not a JSON object: %.80s",
              x->reply_status, x->reply_len, j != NULL ? "" : at.text);
    return NULL;
}

const char *kit_reply_header(const struct davit_http *x, const char *name)
{
    return kit_find(x->reply_headers, x->n_reply_headers, name);
}

uint32_t kit_retry_after_ms(const struct davit_http *x, int64_t wall_ms)
{
    const char *v = kit_reply_header(x, "retry-after");
    int64_t s = 0;
    uint32_t n;
    if (v == NULL)
        return 0;
    if (kit_number(v, RETRY_AFTER_MAX_S, &n)) {
        s = n;
    } else {
        struct tm tm = {0};
        const char *end = strptime(v, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        if (end == NULL || *end != '\0')
            return 0;
        s = (int64_t)timegm(&tm) - wall_ms / 1000;
    }
    s = s < 0 ? 0 : s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : s;
    return (uint32_t)s * 1000;
}

static bool plain(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == '~';
}

bool kit_url_append(char *url, size_t size, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = strlen(url);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';
         c++) {
        size_t more = plain(*c) ? 1 : 3;
        if (n + more >= size)
            return false;
        if (more == 1) {
            url[n++] = (char)*c;
        } else {
            url[n++] = '%';
            url[n++] = hex[*c >> 4];
            url[n++] = hex[*c & 15];
        }
        url[n] = '\0';
    }
    return true;
}

char *kit_form(const struct davit_kv *kv, size_t n)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        size += 3 * (strlen(kv[i].key) + strlen(kv[i].value)) + 2;
    char *form = malloc(size);
    if (form == NULL)
        abort();
    form[0] = '\0';
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            form[at++] = '&';
        form[at] = '\0';
        kit_url_append(form + at, size - at, kv[i].key);
        at += strlen(form + at);
        form[at++] = '=';
        form[at] = '\0';
        kit_url_append(form + at, size - at, kv[i].value);
        at += strlen(form + at);
    }
    return form;
}

int64_t kit_time_ms(const char *text)
{
    struct tm tm = {0};
    const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (p == NULL)
        return -1;
    if (*p == '.')
        p += 1 + strspn(p + 1, "0123456789");
    int64_t s = (int64_t)timegm(&tm);
    if (*p == 'Z' || *p == 'z')
        return p[1] == '\0' ? s * 1000 : -1;
    int h, m, used = 0;
    if ((*p != '+' && *p != '-') ||
        sscanf(p + 1, "%2d:%2d%n", &h, &m, &used) != 2 ||
        p[1 + used] != '\0')
        return -1;
    int64_t away = (int64_t)h * 3600 + m * 60;
    return (*p == '+' ? s - away : s + away) * 1000;
}
