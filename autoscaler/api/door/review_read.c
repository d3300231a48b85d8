/*
 * review_read.c - TokenReview and SubjectAccessReview as they come back.
 *
 * Anything that is not exactly a yes is a no.
 */
#include <string.h>

#include "../../base/text.h"
#include "review.h"

enum { TOKEN_MAX = 8192 };

bool review_takes(const char *token)
{
    size_t n = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;

    return !token[n] && n <= TOKEN_MAX && second && first > token &&
           second > first + 1 && second[1] && !strchr(second + 1, '.');
}

enum { GROUPS_MAX = 256, USER_MAX = 360 };

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static const json_t *status_of(const json_t *reply, const char *kind,
                               struct err *err)
{
    const json_t *status = json_object_get(reply, "status");

    if (json_is_object(status) && strcmp(text_of(reply, "kind"), kind) == 0)
        return status;
    err_set(err, ST_RETRY, "the API server's answer is no %s with a status",
            kind);
    return NULL;
}

/* A server that does not know audiences leaves the list out: then the token is
 * for anybody, and not for us. */
static bool is_for(const json_t *status, const char *audience)
{
    const json_t *list = json_object_get(status, "audiences"), *v;
    size_t i;

    if (!*audience)
        return true;
    json_array_foreach(list, i, v)
        if (json_is_string(v) && strcmp(json_string_value(v), audience) == 0)
            return true;
    return false;
}

/* "system:serviceaccount:NAMESPACE:NAME", and no other user is called so.  The
 * namespace becomes a pattern of owners: it is a DNS label (RFC 1123), or none. */
static const char *space_of(const char *user, struct arena *a)
{
    static const char before[] = "system:serviceaccount:";
    const char *name, *colon;

    if (strncmp(user, before, sizeof before - 1) != 0)
        return "";
    name = user + sizeof before - 1;
    colon = strchr(name, ':');
    if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':') ||
        name + strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != colon)
        return "";
    return arena_strndup(a, name, (size_t)(colon - name));
}

static bool groups_good(const json_t *groups)
{
    const json_t *v;
    size_t i;

    if (!groups)
        return true;
    if (!json_is_array(groups) || json_array_size(groups) > GROUPS_MAX)
        return false;
    json_array_foreach(groups, i, v)
        if (!json_is_string(v))
            return false;
    return true;
}

/* It goes into logs, events and the audit. */
static bool is_plain(const char *s, size_t n)
{
    for (size_t len; n; s += len, n -= len) {
        len = text_plain(s, n);
        if (!len)
            return false;
    }
    return true;
}

static void pass(json_t *spec, const char *to, const json_t *user,
                 const char *from)
{
    json_t *v = json_object_get(user, from);

    if (v)
        json_object_set(spec, to, v);
}

enum status review_user(const json_t *reply, const char *audience,
                        struct arena *a, struct reviewed *ret, struct err *err)
{
    const json_t *status = status_of(reply, "TokenReview", err);
    const json_t *user = json_object_get(status, "user");
    const char *name = text_of(user, "username");
    size_t n = strlen(name);

    *ret = (struct reviewed){.space = ""};
    if (!status)
        return ST_RETRY;
    if (!json_is_true(json_object_get(status, "authenticated")))
        return ST_OK;
    if (!n || n > USER_MAX ||
        n != json_string_length(json_object_get(user, "username")) ||
        !groups_good(json_object_get(user, "groups")))
        return err_set(err, ST_RETRY,
                       "the API server's TokenReview has no user name and "
                       "groups that can be used");
    if (!is_for(status, audience))
        return ST_OK;
    if (!is_plain(name, n))
        return ST_OK;
    ret->user = arena_strdup(a, name);
    ret->space = space_of(name, a);
    ret->spec = json_object();
    pass(ret->spec, "user", user, "username");
    pass(ret->spec, "uid", user, "uid");
    pass(ret->spec, "groups", user, "groups");
    pass(ret->spec, "extra", user, "extra");
    return ST_OK;
}

enum status review_allowed(const json_t *reply, bool *ret, struct err *err)
{
    const json_t *status = status_of(reply, "SubjectAccessReview", err);
    const char *problem = text_of(status, "evaluationError");

    *ret = false;
    if (!status)
        return ST_RETRY;
    if (json_is_true(json_object_get(status, "denied")))
        return ST_OK;
    *ret = json_is_true(json_object_get(status, "allowed"));
    if (!*ret && *problem)
        return err_set(err, ST_RETRY, "the API server cannot tell: %.200s",
                       problem);
    return ST_OK;
}
