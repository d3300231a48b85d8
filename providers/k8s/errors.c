/*
 * errors.c - what the API server's answer asks for.
 *
 * A failure is a Status object: a code, a reason in one word and a message for
 * people.  Where a right is missing the text is the rule to add.
 */
#include <stdio.h>
#include <string.h>

#include "k8s.h"

static enum davit_status by_code(int http, const char *message)
{
    switch (http) {
    case 401: return DAVIT_AUTH;
    case 403:
        if (strstr(message, "exceeded quota"))
            return DAVIT_QUOTA;
        if (strstr(message, "admission webhook"))
            return DAVIT_STOCKOUT; /* a policy, which may change */
        if (strstr(message, "being terminated"))
            return DAVIT_RETRY;
        return DAVIT_AUTH;
    case 404: return DAVIT_NOT_FOUND;
    case 429: return DAVIT_THROTTLED;
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
        return strstr(message, "admission webhook") ? DAVIT_STOCKOUT
                                                    : DAVIT_INVALID;
    default: return DAVIT_RETRY; /* 409, 410, 5xx, a proxy's own */
    }
}

static void say(const struct asked *a, enum davit_status s, const char *code,
                const char *message, struct davit_error *e)
{
    const struct k8s *k = a->k;
    const struct request *r = a->r;
    const char *group = strcmp(r->what, "pods") == 0 ? "\"\"" : "ray.io";
    if (s == DAVIT_AUTH && strcmp(code, "HTTP 403 Forbidden") == 0)
        kit_error(e, s, code,
                  "may not %s %s in namespace %.40s; the Role needs "
                  "{apiGroups: [%s], resources: [%s], verbs: [%s]}",
                  r->verb, r->what, k->ns, group, r->what, r->verb);
    else if (s == DAVIT_AUTH)
        kit_error(e, s, code,
                  "the API server takes our token no more (%.60s): %.90s",
                  k->token_file ? k->token_file : "none", message);
    else if (s == DAVIT_NOT_FOUND)
        kit_error(e, s, code, "%s in namespace %.60s: %.100s", r->what, k->ns,
                  message);
    else
        kit_error(e, s, code, "%s %s: %.150s", r->verb, r->what, message);
}

int error_http(void *arg, const struct davit_http *x, const json_t *reply,
               struct davit_error *e)
{
    const char *reason = kit_json_text(reply, "reason");
    const char *message = kit_json_text(reply, "message");
    char code[48];
    enum davit_status s = by_code(x->reply_status, message);
    snprintf(code, sizeof code, "HTTP %d%s%s", x->reply_status,
             *reason != '\0' ? " " : "", reason);
    say(arg, s, code, *message != '\0' ? message : "no reason given", e);
    int64_t after = kit_json_int(reply, "details.retryAfterSeconds", 0);
    if (e && after > 0 && after < 3600)
        e->retry_after_ms = (uint32_t)after * 1000;
    return (int)s;
}
