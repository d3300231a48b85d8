/*
 * errors.c - AWS's codes, by the reaction each needs: one table.
 *
 * A code that is not here is RETRY with its text kept: a cloud grows new codes,
 * and to stop a provider or disable a type for one we do not know would be
 * worse than to try again.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* A code that ends in '*' is a prefix; `part` must be in the message.  The
 * first row that fits holds. */
static const struct {
    const char *code, *part;
    enum davit_status status;
} table[] = {
    /* no capacity there now */
    {"InsufficientInstanceCapacity", "", DAVIT_STOCKOUT},
    {"InsufficientHostCapacity", "", DAVIT_STOCKOUT},
    {"InsufficientReservedInstanceCapacity", "", DAVIT_STOCKOUT},
    {"InsufficientCapacityOnHost", "", DAVIT_STOCKOUT},
    {"InsufficientCapacity", "", DAVIT_STOCKOUT},
    {"InsufficientVolumeCapacity", "", DAVIT_STOCKOUT},
    {"ReservationCapacityExceeded", "", DAVIT_STOCKOUT},
    {"UnfulfillableCapacity", "", DAVIT_STOCKOUT},
    {"SpotMaxPriceTooLow", "", DAVIT_STOCKOUT},
    {"Unsupported", "Availability Zone", DAVIT_STOCKOUT},
    {"InvalidAvailabilityZone", "", DAVIT_STOCKOUT},
    /* the account's limits */
    {"VcpuLimitExceeded", "", DAVIT_QUOTA},
    {"InstanceLimitExceeded", "", DAVIT_QUOTA},
    {"MaxSpotInstanceCountExceeded", "", DAVIT_QUOTA},
    {"SpotInstanceCountExceeded", "", DAVIT_QUOTA},
    {"MaxSpotFleetRequestCountExceeded", "", DAVIT_QUOTA},
    {"DedicatedHostLimitExceeded", "", DAVIT_QUOTA},
    {"HostLimitExceeded", "", DAVIT_QUOTA},
    {"VolumeLimitExceeded", "", DAVIT_QUOTA},
    {"AddressLimitExceeded", "", DAVIT_QUOTA},
    {"PrivateIpAddressLimitExceeded", "", DAVIT_QUOTA},
    {"NetworkInterfaceLimitExceeded", "", DAVIT_QUOTA},
    {"AttachmentLimitExceeded", "", DAVIT_QUOTA},
    {"InsufficientFreeAddressesInSubnet", "", DAVIT_QUOTA},
    {"InsufficientFreeAddresses", "", DAVIT_QUOTA},
    {"InsufficientAddressCapacity", "", DAVIT_QUOTA},
    {"ResourceLimitExceededException", "", DAVIT_QUOTA},
    {"LimitExceeded", "", DAVIT_QUOTA},
    {"LimitExceededException", "", DAVIT_QUOTA},
    {"ValidationError", "above max value", DAVIT_QUOTA},
    /* slower, please */
    {"Throttling", "", DAVIT_THROTTLED},
    {"ThrottlingException", "", DAVIT_THROTTLED},
    {"ThrottledException", "", DAVIT_THROTTLED},
    {"RequestThrottled", "", DAVIT_THROTTLED},
    {"RequestThrottledException", "", DAVIT_THROTTLED},
    {"RequestLimitExceeded", "", DAVIT_THROTTLED},
    {"TooManyRequestsException", "", DAVIT_THROTTLED},
    {"EC2ThrottledException", "", DAVIT_THROTTLED},
    {"BandwidthLimitExceeded", "", DAVIT_THROTTLED},
    {"PriorRequestNotComplete", "", DAVIT_THROTTLED},
    {"SlowDown", "", DAVIT_THROTTLED},
    /* who are you? */
    {"AccessDenied", "", DAVIT_AUTH},
    {"AccessDeniedException", "", DAVIT_AUTH},
    {"UnauthorizedOperation", "", DAVIT_AUTH},
    {"UnauthorizedException", "", DAVIT_AUTH},
    {"NotAuthorized", "", DAVIT_AUTH},
    /* the account's first spot request, by one who may not make roles: the
     * node type's matter, others go on */
    {"AuthFailure.ServiceLinkedRole*", "", DAVIT_INVALID},
    {"AuthFailure*", "", DAVIT_AUTH},
    {"SignatureDoesNotMatch", "", DAVIT_AUTH},
    {"InvalidSignatureException", "", DAVIT_AUTH},
    {"IncompleteSignature", "", DAVIT_AUTH},
    {"IncompleteSignatureException", "", DAVIT_AUTH},
    {"InvalidClientTokenId", "", DAVIT_AUTH},
    {"UnrecognizedClientException", "", DAVIT_AUTH},
    {"InvalidAccessKeyId", "", DAVIT_AUTH},
    {"MissingAuthenticationToken", "", DAVIT_AUTH},
    {"MissingAuthenticationTokenException", "", DAVIT_AUTH},
    {"ExpiredToken", "", DAVIT_AUTH},
    {"ExpiredTokenException", "", DAVIT_AUTH},
    {"RequestExpired", "", DAVIT_AUTH},
    {"InvalidIdentityToken", "", DAVIT_AUTH},
    {"IDPRejectedClaim", "", DAVIT_AUTH},
    {"OptInRequired", "", DAVIT_AUTH},
    {"Blocked", "", DAVIT_AUTH},
    {"AccountProblem", "", DAVIT_AUTH},
    /* it is not there */
    {"ResourceNotFoundException", "", DAVIT_NOT_FOUND},
    {"NoSuchResourceException", "", DAVIT_NOT_FOUND},
    {"InvalidInstanceID.NotFound", "", DAVIT_NOT_FOUND},
    {"ValidationError", "not found", DAVIT_NOT_FOUND},
    {"ValidationError", "nstance Id not", DAVIT_NOT_FOUND},
    /* not now */
    {"ValidationError", "pending delete", DAVIT_RETRY},
    {"ScalingActivityInProgress", "", DAVIT_RETRY},
    {"ResourceContention", "", DAVIT_RETRY},
    {"ResourceInUse", "", DAVIT_RETRY},
    {"ResourceInUseException", "", DAVIT_RETRY},
    {"IdempotentCallInProgress", "", DAVIT_RETRY},
    {"IDPCommunicationError", "", DAVIT_RETRY},
    {"PendingVerification", "", DAVIT_RETRY},
    {"InternalError", "", DAVIT_RETRY},
    {"InternalFailure", "", DAVIT_RETRY},
    {"InternalServerError", "", DAVIT_RETRY},
    {"ServerException", "", DAVIT_RETRY},
    {"Unavailable", "", DAVIT_RETRY},
    {"ServiceUnavailable", "", DAVIT_RETRY},
    {"ServiceUnavailableException", "", DAVIT_RETRY},
    {"RequestTimeout", "", DAVIT_RETRY},
    /* it can never work */
    {"ValidationError", "", DAVIT_INVALID},
    {"ValidationException", "", DAVIT_INVALID},
    {"InvalidParameter", "", DAVIT_INVALID},
    {"InvalidParameterException", "", DAVIT_INVALID},
    {"InvalidParameterValue", "", DAVIT_INVALID},
    {"InvalidParameterCombination", "", DAVIT_INVALID},
    {"InvalidRequest", "", DAVIT_INVALID},
    {"InvalidRequestException", "", DAVIT_INVALID},
    {"BadRequestException", "", DAVIT_INVALID},
    {"MissingParameter", "", DAVIT_INVALID},
    {"MissingAction", "", DAVIT_INVALID},
    {"InvalidAction", "", DAVIT_INVALID},
    {"InvalidQueryParameter", "", DAVIT_INVALID},
    {"MalformedQueryString", "", DAVIT_INVALID},
    {"ClientException", "", DAVIT_INVALID},
    {"Unsupported", "", DAVIT_INVALID},
    {"UnsupportedOperation", "", DAVIT_INVALID},
    {"UnsupportedAvailabilityZoneException", "", DAVIT_INVALID},
    {"InvalidAMIID.*", "", DAVIT_INVALID},
    {"InvalidLaunchTemplate*", "", DAVIT_INVALID},
    {"InvalidInstanceType", "", DAVIT_INVALID},
    {"InvalidInstanceID.Malformed", "", DAVIT_INVALID},
    {"InvalidGroup.NotFound", "", DAVIT_INVALID},
    {"InvalidSubnet*", "", DAVIT_INVALID},
    {"InvalidSecurityGroup*", "", DAVIT_INVALID},
    {"InvalidKeyPair.*", "", DAVIT_INVALID},
    {"InvalidBlockDeviceMapping", "", DAVIT_INVALID},
    {"InvalidPlacementGroup.*", "", DAVIT_INVALID},
    {"InvalidSnapshot.NotFound", "", DAVIT_INVALID},
    {"InvalidIAMInstanceProfile*", "", DAVIT_INVALID},
    {"IdempotentParameterMismatch", "", DAVIT_INVALID},
    {"ServiceLinkedRoleFailure", "", DAVIT_INVALID},
    /* protected from termination; the instance cannot do it in its state */
    {"OperationNotPermitted", "", DAVIT_INVALID},
    /* what a node group's health may say; its messages are read first */
    {"AsgInstanceLaunchFailures", "", DAVIT_STOCKOUT},
    {"AutoScalingGroupNotFound", "", DAVIT_INVALID},
    {"AutoScalingGroupInvalidConfiguration", "", DAVIT_INVALID},
    {"AutoScalingGroupOptInRequired", "", DAVIT_INVALID},
    {"AutoScalingGroupRateLimitExceeded", "", DAVIT_RETRY},
    {"Ec2LaunchTemplate*", "", DAVIT_INVALID},
    {"Ec2SecurityGroup*", "", DAVIT_INVALID},
    {"Ec2Subnet*", "", DAVIT_INVALID},
    {"Ec2InstanceTypeDoesNotExist", "", DAVIT_INVALID},
    {"IamInstanceProfileNotFound", "", DAVIT_INVALID},
    {"IamNodeRoleNotFound", "", DAVIT_INVALID},
    {"IamLimitExceeded", "", DAVIT_INVALID},
    {"AmiIdNotFound", "", DAVIT_INVALID},
    {"SourceEc2LaunchTemplateNotFound", "", DAVIT_INVALID},
};
enum { N_TABLE = sizeof table / sizeof *table };

static bool fits(const char *pattern, const char *code)
{
    size_t n = strlen(pattern);
    return n > 0 && pattern[n - 1] == '*' ? strncmp(pattern, code, n - 1) == 0
                                          : strcmp(pattern, code) == 0;
}

static bool errors_known(const char *code)
{
    for (size_t i = 0; i < N_TABLE; i++)
        if (fits(table[i].code, code))
            return true;
    return false;
}

int aws_status(const char *code, const char *text)
{
    for (size_t i = 0; i < N_TABLE; i++)
        if (fits(table[i].code, code) && strstr(text, table[i].part))
            return (int)table[i].status;
    return DAVIT_RETRY;
}

/* A scaling activity often says it without a code: AWS's sentences, by a part
 * that only they have, as users report them (kubernetes/autoscaler#1263, #1402;
 * the EC2 user guide's troubleshooting of launches). */
static const struct {
    const char *part, *code;
} sentences[] = {
    {"not have sufficient", "InsufficientInstanceCapacity"},
    {"no Spot capacity available", "InsufficientInstanceCapacity"},
    {"vCPU capacity than your current", "VcpuLimitExceeded"},
    {"than your current instance limit", "InstanceLimitExceeded"},
    {"Max spot instance count exceeded", "MaxSpotInstanceCountExceeded"},
    {"lower than the minimum required Spot", "SpotMaxPriceTooLow"},
    {"is not supported in your requested Availability Zone", "Unsupported"},
};

/* "Could not launch On-Demand Instances. VcpuLimitExceeded - You have ...":
 * the word before " - ", or any word that is a code we know. */
int aws_sentence(const char *text, char *ret_code, size_t size)
{
    snprintf(ret_code, size, "%s", "LaunchFailed");
    for (const char *at = text; *at != '\0';) {
        char word[48];
        size_t n = strcspn(at, " ,:;()");
        while (n > 0 && (at[n - 1] == '.'))
            n--;
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, at);
        const char *bare = strncmp(word, "Client.", 7) == 0 ||
                                   strncmp(word, "Server.", 7) == 0
                               ? word + 7
                               : word;
        bool dashed = n > 0 && strncmp(at + n, " - ", 3) == 0;
        /* A code is one word of two humps, or it is just a word. */
        if (bare[0] != '\0' &&
            (dashed || strcspn(bare + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") <
                           strlen(bare + 1)) &&
            (dashed || errors_known(bare))) {
            snprintf(ret_code, size, "%s", bare);
            return aws_status(bare, text);
        }
        at += strcspn(at, " ,:;()");
        at += strspn(at, " ,:;()");
    }
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strstr(text, sentences[i].part)) {
            snprintf(ret_code, size, "%s", sentences[i].code);
            return aws_status(sentences[i].code, text);
        }
    return DAVIT_RETRY;
}

struct said {
    char code[48], text[208];
};

static void said_json(const struct davit_http *x, struct said *s)
{
    json_t *j = json_loadb(x->reply_body, x->reply_len, 0, NULL);
    static const char *const codes[] = {"__type", "code", "Code"};
    static const char *const texts[] = {"message", "Message"};
    for (size_t i = 0; i < 3 && s->code[0] == '\0'; i++) {
        const char *v = kit_json_text(j, codes[i]);
        const char *bare = strrchr(v, '#');
        snprintf(s->code, sizeof s->code, "%.47s", bare ? bare + 1 : v);
    }
    for (size_t i = 0; i < 2 && s->text[0] == '\0'; i++)
        snprintf(s->text, sizeof s->text, "%.207s", kit_json_text(j, texts[i]));
    json_decref(j);
}

static void said_xml(const struct davit_http *x, struct said *s)
{
    struct xml_doc *doc;
    char why[100];
    const struct xml *root = xml_parse(x->reply_body, x->reply_len, &doc, why,
                                       sizeof why);
    const struct xml *e = xml_at(root, "Error");
    if (!e)
        e = xml_at(root, "Errors/Error");
    snprintf(s->code, sizeof s->code, "%.47s", xml_text(e, "Code"));
    snprintf(s->text, sizeof s->text, "%.207s", xml_text(e, "Message"));
    xml_free(doc);
}

int aws_reply(struct aws_op *op, const struct davit_http *x)
{
    struct said s = {0};
    if (x->reply_status >= 200 && x->reply_status < 300)
        return DAVIT_OK;
    const char *type = kit_reply_header(x, "x-amzn-errortype");
    if (!type)
        type = "";
    snprintf(s.code, sizeof s.code, "%.*s",
             (int)(strcspn(type, ":") < 47 ? strcspn(type, ":") : 47), type);
    size_t gap = strspn(x->reply_body, " \t\r\n");
    if (x->reply_body[gap] == '{')
        said_json(x, &s);
    else if (x->reply_body[gap] == '<')
        said_xml(x, &s);
    int status = aws_status(s.code, s.text);
    if (s.code[0] == '\0') {
        snprintf(s.code, sizeof s.code, "HTTP %d", x->reply_status);
        status = x->reply_status == 429 ? DAVIT_THROTTLED
                 : x->reply_status == 401 || x->reply_status == 403
                     ? DAVIT_AUTH
                     : DAVIT_RETRY;
    }
    if (s.text[0] == '\0')
        snprintf(s.text, sizeof s.text, "AWS answered with status %d: %.100s",
                 x->reply_status, x->reply_body);
    for (char *c = s.text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    if (op->error)
        op->error->retry_after_ms = kit_retry_after_ms(
            x, op->aws->host->wall_ms());
    return kit_error(op->error, (enum davit_status)status, s.code, "%s",
                     s.text);
}
