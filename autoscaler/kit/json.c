/*
 * json.c - see json.h.
 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_AFTER_MAX_S 86400u

const json_t *kit_json_at(const json_t *j, const char *path)
{
    char name[64];
    while (j && *path != '\0') {
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

const char *kit_json_string(const json_t *j)
{
    return json_is_string(j) ? json_string_value(j) : "";
}

const char *kit_json_text(const json_t *j, const char *path)
{
    return kit_json_string(kit_json_at(j, path));
}

int64_t kit_json_int(const json_t *j, const char *path, int64_t fallback)
{
    const json_t *v = kit_json_at(j, path);
    if (json_is_integer(v))
        return json_integer_value(v);
    const char *s = json_string_value(v);
    if (!s || *s == '\0')
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

bool kit_json_ready(const json_t *object)
{
    const json_t *list = kit_json_at(object, "status.conditions"), *c;
    size_t i;
    json_array_foreach(list, i, c)
        if (strcmp(kit_json_text(c, "type"), "Ready") == 0)
            return strcmp(kit_json_text(c, "status"), "True") == 0;
    return false;
}

json_t *kit_json_reply(const struct davit_http *x, struct davit_error *e)
{
    json_error_t at;
    json_t *j = json_loadb(x->reply_body, x->reply_len, JSON_REJECT_DUPLICATES,
                           &at);
    if (json_is_object(j))
        return j;
    json_decref(j);
    kit_error(e, DAVIT_RETRY, "BadReply",
              "the reply (HTTP %d, %zu bytes) is not a JSON object: %.80s",
              x->reply_status, x->reply_len, j ? "" : at.text);
    return NULL;
}

const char *kit_reply_header(const struct davit_http *x, const char *name)
{
    return kit_find(x->reply_headers, x->n_reply_headers, name);
}

uint32_t kit_retry_after_ms(const struct davit_http *x, int64_t wall_ms)
{
    const char *v = kit_reply_header(x, "retry-after");
    uint32_t n;
    if (!v)
        return 0;
    if (kit_number(v, RETRY_AFTER_MAX_S, &n))
        return n * 1000;
    int64_t at = kit_date_ms(v), ms = at < 0 ? 0 : at - wall_ms;
    return ms < 0                          ? 0
           : ms > RETRY_AFTER_MAX_S * 1000 ? RETRY_AFTER_MAX_S * 1000
                                           : (uint32_t)ms;
}
