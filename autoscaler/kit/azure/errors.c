/*
 * errors.c - Azure's codes become reactions.
 *
 * The code that matters is often inside another: in details[], in innererror,
 * or as text in the message of ReconcileVMSSAgentPoolFailed.  All are looked
 * at, and the one with the strongest reaction is taken: a stock-out wrapped in
 * "internal error" is a stock-out.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "azure.h"

#define DEPTH_MAX 8

struct rule {
    const char *code;
    enum davit_status status;
};

static const struct rule rules[] = {
    /* no capacity: passes by itself, and elsewhere */
    {"AllocationFailed", DAVIT_STOCKOUT},
    {"ZonalAllocationFailed", DAVIT_STOCKOUT},
    {"OverconstrainedAllocationRequest", DAVIT_STOCKOUT},
    {"OverconstrainedZonalAllocationRequest", DAVIT_STOCKOUT},
    {"SkuNotAvailable", DAVIT_STOCKOUT},
    {"AKSCapacityError", DAVIT_STOCKOUT},
    {"AksCapacityHeavyUsage", DAVIT_STOCKOUT},
    {"SpotAllocationFailed", DAVIT_STOCKOUT},
    {"CapacityReservationGroupCapacityExceeded", DAVIT_STOCKOUT},
    /* a limit of the account or its network */
    {"QuotaExceeded", DAVIT_QUOTA},
    {"ResourceQuotaExceeded", DAVIT_QUOTA},
    {"InsufficientVCPUQuota", DAVIT_QUOTA},
    {"ErrCode_InsufficientVCPUQuota", DAVIT_QUOTA},
    {"LowPriorityQuotaExceeded", DAVIT_QUOTA},
    {"PublicIPCountLimitReached", DAVIT_QUOTA},
    {"SubnetIsFull", DAVIT_QUOTA},
    {"InsufficientSubnetSize", DAVIT_QUOTA},
    {"MaxAgentPoolCountReached", DAVIT_QUOTA},
    /* too many calls */
    {"TooManyRequests", DAVIT_THROTTLED},
    {"TooManyRequestsReceived", DAVIT_THROTTLED},
    {"SubscriptionRequestsThrottled", DAVIT_THROTTLED},
    {"ResourceRequestsThrottled", DAVIT_THROTTLED},
    {"RequestThrottled", DAVIT_THROTTLED},
    {"Throttled", DAVIT_THROTTLED},
    /* who we are, or what we may */
    {"AuthorizationFailed", DAVIT_AUTH},
    {"LinkedAuthorizationFailed", DAVIT_AUTH},
    {"AuthenticationFailed", DAVIT_AUTH},
    {"AuthenticationFailedMissingToken", DAVIT_AUTH},
    {"AuthenticationFailedInvalidHeader", DAVIT_AUTH},
    {"InvalidAuthenticationToken", DAVIT_AUTH},
    {"InvalidAuthenticationTokenTenant", DAVIT_AUTH},
    {"InvalidAuthenticationTokenAudience", DAVIT_AUTH},
    {"ExpiredAuthenticationToken", DAVIT_AUTH},
    {"SubscriptionNotFound", DAVIT_AUTH},
    {"InvalidSubscriptionId", DAVIT_AUTH},
    {"MissingSubscriptionRegistration", DAVIT_AUTH},
    {"SubscriptionNotRegistered", DAVIT_AUTH},
    {"ReadOnlyDisabledSubscription", DAVIT_AUTH},
    {"DisallowedOperation", DAVIT_AUTH},
    {"Forbidden", DAVIT_AUTH},
    {"Unauthorized", DAVIT_AUTH},
    {"ServicePrincipalNotFound", DAVIT_AUTH},
    {"ServicePrincipalValidationClientError", DAVIT_AUTH},
    /* it can never work like this */
    {"InvalidParameter", DAVIT_INVALID},
    {"BadRequest", DAVIT_INVALID},
    {"InvalidRequestContent", DAVIT_INVALID},
    {"InvalidRequestFormat", DAVIT_INVALID},
    {"InvalidResourceReference", DAVIT_INVALID},
    {"InvalidApiVersionParameter", DAVIT_INVALID},
    {"NoRegisteredProviderFound", DAVIT_INVALID},
    {"InvalidResourceType", DAVIT_INVALID},
    {"PropertyChangeNotAllowed", DAVIT_INVALID},
    {"AgentPoolNotFound", DAVIT_INVALID},
    {"ResourceNotFound", DAVIT_INVALID},
    {"ParentResourceNotFound", DAVIT_INVALID},
    {"ResourceGroupNotFound", DAVIT_INVALID},
    {"ResourceGroupBeingDeleted", DAVIT_INVALID},
    {"NotFound", DAVIT_INVALID},
    {"RequestDisallowedByPolicy", DAVIT_INVALID},
    {"ScopeLocked", DAVIT_INVALID},
    {"VMSizeNotSupported", DAVIT_INVALID},
    {"InvalidVMSize", DAVIT_INVALID},
    {"AvailabilityZoneNotSupported", DAVIT_INVALID},
    {"K8sVersionNotSupported", DAVIT_INVALID},
    {"AgentPoolK8sVersionNotSupported", DAVIT_INVALID},
    {"ImageNotFound", DAVIT_INVALID},
    {"PlatformImageNotFound", DAVIT_INVALID},
    {"GalleryImageNotFound", DAVIT_INVALID},
    {"VMMarketplaceInvalidInput", DAVIT_INVALID},
    {"MarketplacePurchaseEligibilityFailed", DAVIT_INVALID},
    {"ResourcePurchaseValidationFailed", DAVIT_INVALID},
    {"InvalidSubnet", DAVIT_INVALID},
    {"TagLimitExceeded", DAVIT_INVALID},
    {"InvalidTagNameCharacters", DAVIT_INVALID},
    /* somebody else is at it, or Azure is not well */
    {"OperationNotAllowed", DAVIT_RETRY}, /* see quota_said() */
    {"Conflict", DAVIT_RETRY},
    {"EtagMismatch", DAVIT_RETRY},
    {"PreconditionFailed", DAVIT_RETRY},
    {"AnotherOperationInProgress", DAVIT_RETRY},
    {"OperationPreempted", DAVIT_RETRY},
    {"OperationCanceled", DAVIT_RETRY},
    {"Canceled", DAVIT_RETRY},
    {"InternalServerError", DAVIT_RETRY},
    {"InternalOperationError", DAVIT_RETRY},
    {"InternalError", DAVIT_RETRY},
    {"ServiceUnavailable", DAVIT_RETRY},
    {"ServerTimeout", DAVIT_RETRY},
    {"GatewayTimeout", DAVIT_RETRY},
    {"OperationTimedOut", DAVIT_RETRY},
    {"RetryableError", DAVIT_RETRY},
    {"NetworkingInternalOperationError", DAVIT_RETRY},
    {"OSProvisioningTimedOut", DAVIT_RETRY},
    {"OSProvisioningClientError", DAVIT_RETRY},
    {"OSProvisioningInternalError", DAVIT_RETRY},
    {"VMStartTimedOut", DAVIT_RETRY},
    {"VMExtensionProvisioningError", DAVIT_RETRY},
    {"VMExtensionProvisioningTimeout", DAVIT_RETRY},
};

static enum davit_status error_class(const char *code, bool *ret_known)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcasecmp(rules[i].code, code) == 0) {
            *ret_known = true;
            return rules[i].status;
        }
    *ret_known = false;
    return DAVIT_RETRY;
}

/* The stronger, the more it tells about what to do. */
static int strength(enum davit_status s)
{
    static const enum davit_status order[] = {DAVIT_RETRY, DAVIT_INVALID,
                                              DAVIT_AUTH,  DAVIT_THROTTLED,
                                              DAVIT_QUOTA, DAVIT_STOCKOUT};
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
        if (order[i] == s)
            return i;
    return -1;
}

struct finding {
    char code[48];
    enum davit_status status;
    bool known, any;
};

/* Compute says "OperationNotAllowed" also when a quota of cores is at its end. */
static bool quota_said(const char *code, const char *message)
{
    return strcasecmp(code, "OperationNotAllowed") == 0 &&
           (strcasestr(message, "quota") ||
            strcasestr(message, "exceeding approved"));
}

static void consider(struct finding *f, const char *code, const char *message)
{
    bool known;
    enum davit_status s = error_class(code, &known);
    if (code[0] == '\0')
        return;
    if (quota_said(code, message))
        s = DAVIT_QUOTA;
    if (f->any && (!known || (f->known && strength(s) <= strength(f->status))))
        return;
    snprintf(f->code, sizeof f->code, "%s", code);
    f->status = s;
    f->known = known;
    f->any = true;
}

/* Code="X", "code":"X", \"code\": \"X\" and Code: X, inside a sentence. */
static void consider_text(struct finding *f, const char *message)
{
    const char *s = message;
    while ((s = strcasestr(s, "code"))) {
        bool word = s == message || !isalnum((unsigned char)s[-1]);
        s += 4;
        if (!word)
            continue;
        const char *from = s + strspn(s, "\\\"'");
        if (*from != '=' && *from != ':')
            continue;
        from += 1 + strspn(from + 1, " ");
        from += strspn(from, "\\\"'");
        size_t n = 0;
        while (isalnum((unsigned char)from[n]) || from[n] == '_')
            n++;
        char code[48];
        if (n == 0 || n >= sizeof code)
            continue;
        memcpy(code, from, n);
        code[n] = '\0';
        consider(f, code, from);
    }
}

static void consider_object(struct finding *f, const json_t *e, int depth)
{
    if (!json_is_object(e) || depth > DEPTH_MAX)
        return;
    const char *message = kit_json_text(e, "message");
    consider(f, kit_json_text(e, "code"), message);
    consider_text(f, message);
    size_t i;
    const json_t *d;
    json_array_foreach(json_object_get(e, "details"), i, d)
        consider_object(f, d, depth + 1);
    consider_object(f, json_object_get(e, "innererror"), depth + 1);
    consider_object(f, json_object_get(e, "error"), depth + 1);
}

static void sentence(struct davit_error *e, const char *message)
{
    size_t n = 0;
    for (; *message != '\0' && n + 1 < sizeof e->text; message++)
        e->text[n++] = (char)(iscntrl((unsigned char)*message) ? ' '
                                                               : *message);
    e->text[n] = '\0';
}

int azure_error(struct davit_error *e, const json_t *error, int http)
{
    struct finding f = {.status = DAVIT_RETRY};
    consider_object(&f, error, 0);
    if (!f.known && f.any && (http == 401 || http == 403))
        f.status = DAVIT_AUTH;
    if (http == 429 && (!f.known || strength(f.status) <= strength(DAVIT_AUTH)))
        f.status = DAVIT_THROTTLED;
    if (!f.any)
        snprintf(f.code, sizeof f.code, "HTTP %d", http);
    snprintf(e->code, sizeof e->code, "%s", f.code);
    sentence(e, kit_json_text(error, "message"));
    if (e->text[0] == '\0')
        snprintf(e->text, sizeof e->text, "Azure answered with %s%.40s",
                 f.any ? "code " : "", f.code);
    return (int)f.status;
}

int azure_judge(void *unused, const struct davit_http *x, const json_t *reply,
                struct davit_error *e)
{
    (void)unused;
    return azure_error(e, kit_json_at(reply, "error"), x->reply_status);
}

/* Entra ID's own way: {"error": "invalid_client", "error_description": ...}. */
int azure_entra_judge(void *unused, const struct davit_http *x,
                      const json_t *reply, struct davit_error *e)
{
    int http = x->reply_status;
    (void)unused;
    const char *code = kit_json_text(reply, "error");
    if (http == 429 || http == 408 || http >= 500 || http == 404 ||
        http == 410 || code[0] == '\0') {
        kit_error(e, DAVIT_RETRY, code[0] != '\0' ? code : "NoToken",
                  "the token endpoint answered %d", http);
        return http == 429 ? DAVIT_THROTTLED : DAVIT_RETRY;
    }
    bool later = strcmp(code, "temporarily_unavailable") == 0;
    snprintf(e->code, sizeof e->code, "%s", code);
    sentence(e, kit_json_text(reply, "error_description"));
    if (e->text[0] == '\0')
        snprintf(e->text, sizeof e->text, "no token: %.60s", code);
    return later ? DAVIT_RETRY : DAVIT_AUTH;
}
