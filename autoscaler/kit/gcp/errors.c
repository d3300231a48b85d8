/*
 * errors.c - Google's codes, by what to do about them.
 *
 * A code may be in many places (a reply's reason or status, an operation's
 * errors, an instance's last attempt, a node pool's conditions), and sometimes
 * only inside the text of another one; the table is the same for all.  A code
 * that is not known is RETRY, and its text is kept: better tried again than
 * given up for ever.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcp.h"

static const struct {
    const char *code;
    enum davit_status status;
} known[] = {
    /* no machine to be had here now */
    {"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", DAVIT_STOCKOUT},
    {"ZONE_RESOURCE_POOL_EXHAUSTED", DAVIT_STOCKOUT},
    {"RESOURCE_POOL_EXHAUSTED", DAVIT_STOCKOUT},
    {"GCE_STOCKOUT", DAVIT_STOCKOUT},
    {"stockout", DAVIT_STOCKOUT},
    {"RESERVATION_CAPACITY_EXCEEDED", DAVIT_STOCKOUT},
    {"RESERVATION_NOT_READY", DAVIT_STOCKOUT},
    /* too fast, which also is called a quota */
    {"rateLimitExceeded", DAVIT_THROTTLED},
    {"userRateLimitExceeded", DAVIT_THROTTLED},
    {"RATE_LIMIT_EXCEEDED", DAVIT_THROTTLED},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", DAVIT_THROTTLED},
    {"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", DAVIT_THROTTLED},
    {"concurrentLimitExceeded", DAVIT_THROTTLED},
    /* as many as the account or the network may have */
    {"GCE_QUOTA_EXCEEDED", DAVIT_QUOTA},
    {"QUOTA_EXCEEDED", DAVIT_QUOTA},
    {"quotaExceeded", DAVIT_QUOTA},
    {"limitExceeded", DAVIT_QUOTA},
    {"LIMIT_EXCEEDED", DAVIT_QUOTA},
    {"IP_SPACE_EXHAUSTED_WITH_DETAILS", DAVIT_QUOTA},
    {"IP_SPACE_EXHAUSTED", DAVIT_QUOTA},
    /* who we are is the matter */
    {"authError", DAVIT_AUTH},
    {"UNAUTHENTICATED", DAVIT_AUTH},
    {"forbidden", DAVIT_AUTH},
    {"insufficientPermissions", DAVIT_AUTH},
    {"PERMISSION_DENIED", DAVIT_AUTH},
    {"accessNotConfigured", DAVIT_AUTH},
    {"SERVICE_DISABLED", DAVIT_AUTH},
    {"billingNotEnabled", DAVIT_AUTH},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", DAVIT_AUTH},
    /* this pool can never make a machine until a person mends it */
    {"PERMISSIONS_ERROR", DAVIT_INVALID},
    {"VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT", DAVIT_INVALID},
    {"INVALID_RESERVATION", DAVIT_INVALID},
    {"UNSUPPORTED_TPU_CONFIGURATION", DAVIT_INVALID},
    {"GCE_INVALID_RESERVATION", DAVIT_INVALID},
    {"CLOUD_KMS_KEY_ERROR", DAVIT_INVALID},
    {"GKE_SERVICE_ACCOUNT_DELETED", DAVIT_INVALID},
    {"INVALID_USAGE", DAVIT_INVALID},
    {"INVALID_FIELD_VALUE", DAVIT_INVALID},
    {"INVALID_ARGUMENT", DAVIT_INVALID},
    {"invalid", DAVIT_INVALID},
    {"invalidParameter", DAVIT_INVALID},
    {"invalidArgument", DAVIT_INVALID},
    {"badRequest", DAVIT_INVALID},
    {"parseError", DAVIT_INVALID},
    {"required", DAVIT_INVALID},
    /* gone, or not there */
    {"notFound", DAVIT_NOT_FOUND},
    {"NOT_FOUND", DAVIT_NOT_FOUND},
    {"RESOURCE_NOT_FOUND", DAVIT_NOT_FOUND},
    /* somebody else is at work on it: wait */
    {"failedPrecondition", DAVIT_RETRY},
    {"FAILED_PRECONDITION", DAVIT_RETRY},
    {"conditionNotMet", DAVIT_RETRY},
    {"CONDITION_NOT_MET", DAVIT_RETRY},
    {"resourceNotReady", DAVIT_RETRY},
    {"RESOURCE_NOT_READY", DAVIT_RETRY},
    {"resourceInUseByAnotherResource", DAVIT_RETRY},
    {"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", DAVIT_RETRY},
    {"alreadyExists", DAVIT_RETRY},
    {"ALREADY_EXISTS", DAVIT_RETRY},
    {"RESOURCE_ALREADY_EXISTS", DAVIT_RETRY},
    {"conflict", DAVIT_RETRY},
    {"ABORTED", DAVIT_RETRY},
    {"backendError", DAVIT_RETRY},
    {"internalError", DAVIT_RETRY},
    {"INTERNAL_ERROR", DAVIT_RETRY},
    {"INTERNAL", DAVIT_RETRY},
    {"UNAVAILABLE", DAVIT_RETRY},
    {"DEADLINE_EXCEEDED", DAVIT_RETRY},
};

static int find(const char *code)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].code, code) == 0)
            return (int)known[i].status;
    return -1;
}

/* What is a code and what a word: only those in capitals with a bar. */
static int find_within(const char *text)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strchr(known[i].code, '_') && strstr(text, known[i].code))
            return (int)known[i].status;
    return -1;
}

/* A disk or a feature that does not go with the machine type may come in a
 * stockout's clothes; it will never be in stock
 * (kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1391 has the text). */
static bool never(const char *text)
{
    return strstr(text, "not compatible") || strstr(text, "incompatible with");
}

enum davit_status gcp_status(const char *code, const char *text)
{
    int s = find(code);
    if (s == DAVIT_STOCKOUT && never(text))
        return DAVIT_INVALID;
    if (s < 0)
        s = find_within(text);
    if (s < 0 && strstr(code, "QUOTA"))
        s = DAVIT_QUOTA;
    return s < 0 ? DAVIT_RETRY : (enum davit_status)s;
}

/* By the HTTP status alone; a 400 of unknown reason may be anything. */
static enum davit_status by_http(int http)
{
    switch (http) {
    case 401:
    case 403: return DAVIT_AUTH;
    case 404:
    case 410: return DAVIT_NOT_FOUND;
    case 429: return DAVIT_THROTTLED;
    default: return DAVIT_RETRY;
    }
}

/* google.rpc.RetryInfo: "retryDelay": "30s". */
static uint32_t retry_delay_ms(const json_t *error)
{
    size_t i;
    json_t *d;
    json_array_foreach(json_object_get(error, "details"), i, d) {
        double s = strtod(kit_json_text(d, "retryDelay"), NULL);
        if (s > 0 && s < 86400)
            return (uint32_t)(s * 1000);
    }
    return 0;
}

static const char *reason_of(const json_t *error)
{
    const json_t *first = json_array_get(json_object_get(error, "errors"), 0);
    const char *reason = kit_json_text(first, "reason");
    size_t i;
    json_t *d;
    if (*reason != '\0')
        return reason;
    json_array_foreach(json_object_get(error, "details"), i, d) {
        reason = kit_json_text(d, "reason");
        if (*reason != '\0')
            return reason;
    }
    return kit_json_text(error, "status");
}

int gcp_error_http(void *unused, const struct davit_http *x,
                   const json_t *reply, struct davit_error *e)
{
    (void)unused;
    const json_t *error = json_object_get(reply, "error");
    const char *reason = reason_of(error);
    const char *message = kit_json_text(error, "message");
    const char *status = kit_json_text(error, "status");
    char code[48];
    int s = find(reason);
    /* 429 is RESOURCE_EXHAUSTED, whatever quota the text talks of. */
    if (x->reply_status == 429)
        s = DAVIT_THROTTLED;
    else if (x->reply_status >= 500)
        s = gcp_status(reason, message) == DAVIT_STOCKOUT ? DAVIT_STOCKOUT
                                                          : DAVIT_RETRY;
    if (s < 0)
        s = find_within(message);
    if (s < 0)
        s = find(status);
    if (s < 0)
        s = (int)by_http(x->reply_status);
    /* "Operation X is currently upgrading cluster c1": it will be over. */
    if (s == DAVIT_INVALID && strstr(message, "is currently"))
        s = DAVIT_RETRY;
    snprintf(code, sizeof code, "HTTP %d%s%s", x->reply_status,
             *reason != '\0' ? " " : "", reason);
    if (e)
        e->retry_after_ms = retry_delay_ms(error);
    return *message != '\0'
               ? kit_error(e, (enum davit_status)s, code, "%s", message)
               : kit_error(e, (enum davit_status)s, code,
                           "HTTP %d without a reason we can read",
                           x->reply_status);
}

/* The zones that the cloud says have some. */
static const char *zones_hint(const json_t *error)
{
    size_t i;
    json_t *d;
    json_array_foreach(json_object_get(error, "errorDetails"), i, d) {
        const char *zones = kit_json_text(d,
                                          "errorInfo.metadatas.zonesAvailable");
        if (*zones != '\0')
            return zones;
    }
    return "";
}

/* Of several the one that forbids most: what is out of stock may come back,
 * what is not allowed will not. */
static int weight(enum davit_status s)
{
    static const enum davit_status order[] = {
        DAVIT_RETRY, DAVIT_NOT_FOUND, DAVIT_THROTTLED, DAVIT_STOCKOUT,
        DAVIT_QUOTA, DAVIT_INVALID,   DAVIT_AUTH};
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
        if (order[i] == s)
            return i;
    return -1;
}

int gcp_error_list(const json_t *errors, struct davit_error *e)
{
    int worst = DAVIT_OK;
    size_t i;
    json_t *x;
    json_array_foreach(json_object_get(errors, "errors"), i, x) {
        const char *code = kit_json_text(x, "code");
        const char *text = kit_json_text(x, "message");
        const char *hint = zones_hint(x);
        enum davit_status s = gcp_status(code, text);
        if (worst != DAVIT_OK && weight(s) <= weight((enum davit_status)worst))
            continue;
        worst = kit_error(e, s, code, "%.150s%s%.50s",
                          *text != '\0' ? text : code,
                          *hint != '\0' ? "; there is some in " : "", hint);
    }
    return worst;
}

int gcp_error_operation(const json_t *o, struct davit_error *e)
{
    const json_t *error = json_object_get(o, "error");
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(o, "nodepoolConditions"), i, c) {
        const char *code = kit_json_text(c, "code");
        if (find(code) >= 0)
            return kit_error(e, (enum davit_status)find(code), code, "%s",
                             kit_json_text(c, "message"));
    }
    if (!error)
        return DAVIT_OK;
    const char *text = kit_json_text(error, "message");
    return kit_error(e, gcp_status("", text), kit_json_text(o, "status"), "%s",
                     *text != '\0' ? text : kit_json_text(o, "statusMessage"));
}
