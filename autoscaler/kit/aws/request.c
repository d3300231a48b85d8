/*
 * request.c - signed requests to AWS's services, and their replies read.
 *
 * Everything goes through the host's HTTP.  A reply that is cut short or is not
 * what it says is RETRY, never half an answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../sigv4.h"
#include "inside.h"

#define CLOCK_OFF_MS 60000 /* less may be the way there and back */

static const char *const versions[AWS_SERVICES] = {
    [AWS_EKS] = "",           [AWS_AUTOSCALING] = "2011-01-01",
    [AWS_EC2] = "2016-11-15", [AWS_STS] = "2011-06-15",
    [AWS_SSO] = "",           [AWS_SSO_OIDC] = "",
    [AWS_QUOTAS] = ""};

void aws_init(struct aws *a, const struct davit_host *host)
{
    a->host = host;
    pthread_mutex_init(&a->lock, NULL);
    kit_token_init(&a->keys);
}

void aws_done(struct aws *a)
{
    kit_token_done(&a->keys);
    for (size_t s = 0; s < AWS_SERVICES; s++)
        free(a->configured[s]);
    pthread_mutex_destroy(&a->lock);
}

struct aws_op aws_op_begin(struct aws *a, struct davit_call *call,
                           struct davit_error *error)
{
    return (struct aws_op){.aws = a,
                           .call = call,
                           .error = error,
                           .server_ms = a->host->wall_ms()};
}

void aws_form_begin(struct kit_str *f, enum aws_service s, const char *action)
{
    kit_str_clear(f);
    kit_str_param(f, "Action", action);
    kit_str_param(f, "Version", versions[s]);
}

void aws_form_nth(struct kit_str *f, const char *name, size_t n,
                  const char *value)
{
    char full[100];
    snprintf(full, sizeof full, "%s%zu", name, n);
    kit_str_param(f, full, value);
}

/* The Host header that HTTP clients send: without the scheme's own port. */
static void host_of(const char *base, struct kit_str *ret)
{
    bool tls = strncmp(base, "https://", 8) == 0;
    const char *host = strstr(base, "://");
    host = host ? host + 3 : base;
    size_t n = strcspn(host, "/?");
    const char *own = tls ? ":443" : ":80";
    size_t k = strlen(own);
    if (n > k && strncmp(host + n - k, own, k) == 0)
        n -= k;
    kit_str_add(ret, host, n);
}

/* The clock of AWS is what counts: ours may be wrong, and a signature is good
 * for five minutes. */
static void clock_note(struct aws_op *op, const struct davit_http *x)
{
    const char *date = kit_reply_header(x, "date");
    int64_t at = date ? kit_date_ms(date) : -1;
    if (at < 0)
        return;
    int64_t off = at - op->aws->host->wall_ms();
    op->server_ms = at;
    op->aws->clock_off_ms = off > CLOCK_OFF_MS || off < -CLOCK_OFF_MS ? off : 0;
}

struct request {
    enum aws_service service;
    const char *method, *path, *type; /* path: encoded; type NULL: no body */
    const struct kit_str *body;
    const char *target; /* the operation, of JSON 1.1; or NULL */
};

static int send_signed(struct aws_op *op, const struct request *r,
                       const struct credentials *keys, struct davit_http *x)
{
    struct kit_str url = {0}, host = {0}, authorization = {0};
    char region[48], date[SIGV4_DATE_SIZE];
    struct davit_kv h[6];
    size_t n = 0;
    int st = aws_region(op, region, sizeof region);
    if (st == DAVIT_OK)
        st = aws_endpoint(op, r->service, region, &url);
    if (st != DAVIT_OK)
        return st;
    host_of(url.p, &host);
    kit_str_puts(&url, r->path);
    sigv4_date(op->aws->host->wall_ms() + op->aws->clock_off_ms, date);
    h[n++] = (struct davit_kv){"Host", host.p};
    if (r->type)
        h[n++] = (struct davit_kv){"Content-Type", r->type};
    if (r->target)
        h[n++] = (struct davit_kv){"X-Amz-Target", r->target};
    if (keys) {
        h[n++] = (struct davit_kv){"X-Amz-Date", date};
        if (keys->token)
            h[n++] = (struct davit_kv){"X-Amz-Security-Token", keys->token};
        struct sigv4 s = {.access_key = keys->access_key,
                          .secret_key = keys->secret_key,
                          .region = region,
                          .service = aws_service_name(r->service),
                          .date = date,
                          .method = r->method,
                          .path = r->path,
                          .query = "",
                          .headers = h,
                          .n_headers = n,
                          .body = r->body ? r->body->p : NULL,
                          .body_len = r->body ? r->body->n : 0};
        sigv4_sign(&s, &authorization, NULL, NULL);
        h[n++] = (struct davit_kv){"Authorization", authorization.p};
    }
    /* Host is the client's own to send; it was only here to be signed. */
    *x = (struct davit_http){.size = sizeof *x,
                             .method = r->method,
                             .url = url.p,
                             .headers = h + 1,
                             .n_headers = n - 1,
                             .body = r->body ? r->body->p : NULL,
                             .body_len = r->body ? r->body->n : 0};
    st = op->aws->host->http(op->call, x, op->error);
    x->url = "";
    x->headers = NULL;
    x->n_headers = 0;
    kit_str_done(&url);
    kit_str_done(&host);
    kit_str_done(&authorization);
    if (st == DAVIT_OK)
        clock_note(op, x);
    return st;
}

static bool said(const struct aws_op *op, int st, const char *code)
{
    return st == DAVIT_AUTH && op->error &&
           strncmp(op->error->code, code, strlen(code)) == 0;
}

static bool expired(const struct aws_op *op, int st)
{
    return said(op, st, "ExpiredToken") ||
           said(op, st, "InvalidClientTokenId") ||
           said(op, st, "UnrecognizedClientException");
}

/* The time in the signature was refused: by our clock or AWS's. */
static bool untimely(const struct aws_op *op, int st)
{
    return said(op, st, "RequestExpired") ||
           said(op, st, "RequestTimeTooSkewed") ||
           said(op, st, "SignatureDoesNotMatch") ||
           said(op, st, "InvalidSignatureException") ||
           said(op, st, "AuthFailure");
}

/* With our own credentials; if the cloud says that they are too old, once more
 * with fresh ones, and if our clock was wrong, with the cloud's time. */
static int exchange(struct aws_op *op, const struct request *r,
                    struct davit_http *x)
{
    for (int tries = 0;; tries++) {
        struct credentials keys = {0};
        int64_t off = op->aws->clock_off_ms;
        int st = aws_keys(op, &keys);
        if (st == DAVIT_OK)
            st = send_signed(op, r, &keys, x);
        if (st == DAVIT_OK)
            st = aws_reply(op, x);
        bool stale = expired(op, st) && keys.token;
        bool again = tries == 0 &&
                     (stale ||
                      (untimely(op, st) &&
                       llabs(op->aws->clock_off_ms - off) > CLOCK_OFF_MS));
        if (again && stale)
            kit_token_refused(&op->aws->keys, keys.text);
        credentials_free(&keys);
        if (!again)
            return st;
    }
}

static int read_xml(struct aws_op *op, const struct davit_http *x,
                    struct xml_doc **ret_doc, const struct xml **ret)
{
    /* Two thirds of an instance's description, and none of it is read. */
    static const char *const unread[] = {"networkInterfaceSet",
                                         "blockDeviceMapping",
                                         "metadataOptions",
                                         "cpuOptions",
                                         "capacityReservationSpecification",
                                         "enclaveOptions",
                                         "maintenanceOptions",
                                         "privateDnsNameOptions",
                                         "groupSet",
                                         NULL};
    char why[100];
    *ret = xml_parse_without(x->reply_body, x->reply_len, unread, ret_doc, why,
                             sizeof why);
    if (*ret)
        return DAVIT_OK;
    xml_free(*ret_doc);
    *ret_doc = NULL;
    return kit_error(op->error, DAVIT_RETRY, "BadXML",
                     "the reply is not XML that can be read: %s", why);
}

#define FORM "application/x-www-form-urlencoded; charset=utf-8"

int aws_query(struct aws_op *op, enum aws_service s, const struct kit_str *form,
              struct xml_doc **ret_doc, const struct xml **ret)
{
    struct davit_http x;
    struct request r = {s, "POST", "/", FORM, form, NULL};
    *ret_doc = NULL;
    *ret = NULL;
    int st = exchange(op, &r, &x);
    return st != DAVIT_OK ? st : read_xml(op, &x, ret_doc, ret);
}

int aws_query_as(struct aws_op *op, enum aws_service s,
                 const struct kit_str *form, const struct credentials *keys,
                 struct xml_doc **ret_doc, const struct xml **ret)
{
    struct davit_http x;
    struct request r = {s, "POST", "/", FORM, form, NULL};
    *ret_doc = NULL;
    *ret = NULL;
    int st = send_signed(op, &r, keys, &x);
    if (st == DAVIT_OK)
        st = aws_reply(op, &x);
    return st != DAVIT_OK ? st : read_xml(op, &x, ret_doc, ret);
}

int aws_json(struct aws_op *op, enum aws_service s, const char *path,
             json_t **ret)
{
    struct davit_http x;
    struct request r = {s, "GET", path, NULL, NULL, NULL};
    *ret = NULL;
    int st = exchange(op, &r, &x);
    if (st == DAVIT_OK && !(*ret = kit_json_reply(&x, op->error)))
        st = DAVIT_RETRY;
    return st;
}

int aws_json_call(struct aws_op *op, enum aws_service s, const char *target,
                  const json_t *body, json_t **ret)
{
    struct davit_http x;
    struct kit_str text = {0};
    char *dump = kit_must(json_dumps(body, 0));
    struct request r = {s,     "POST", "/", "application/x-amz-json-1.1",
                        &text, target};
    kit_str_puts(&text, dump);
    free(dump);
    *ret = NULL;
    int st = exchange(op, &r, &x);
    if (st == DAVIT_OK && !(*ret = kit_json_reply(&x, op->error)))
        st = DAVIT_RETRY;
    kit_str_done(&text);
    return st;
}

int aws_do(struct aws_op *op, enum aws_service s, const struct kit_str *form)
{
    struct xml_doc *doc;
    const struct xml *x;
    int st = aws_query(op, s, form, &doc, &x);
    xml_free(doc);
    return st;
}

int aws_plain(struct aws_op *op, struct davit_http *x)
{
    int st = op->aws->host->http(op->call, x, op->error);
    if (st != DAVIT_OK)
        return st;
    if (x->reply_status >= 200 && x->reply_status < 300)
        return DAVIT_OK;
    char code[16];
    snprintf(code, sizeof code, "HTTP %d", x->reply_status);
    return kit_error(
        op->error,
        x->reply_status >= 500 || x->reply_status == 429 ? DAVIT_RETRY
                                                         : DAVIT_AUTH,
        code, "%.80s answered with status %d", x->url, x->reply_status);
}
