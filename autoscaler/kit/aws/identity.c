/*
 * identity.c - a GetCallerIdentity request that is signed and not sent: others
 * send it, and AWS tells them who we are (docs.cloud.google.com/iam/docs/
 * workload-identity-federation-with-other-clouds).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sigv4.h"
#include "inside.h"

/* "https://sts.{region}.amazonaws.com?Action=..." with the region in place. */
static void url_make(const char *form, const char *region, struct kit_str *ret)
{
    const char *hole = strstr(form, "{region}");
    kit_str_add(ret, form, hole ? (size_t)(hole - form) : strlen(form));
    if (hole) {
        kit_str_puts(ret, region);
        kit_str_puts(ret, hole + 8);
    }
}

static json_t *described(const char *url, const struct davit_kv *h, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "key", h[i].key,
                                              "value", h[i].value));
    return json_pack("{s:s, s:s, s:o}", "url", url, "method", "POST", "headers",
                     list);
}

static json_t *signed_with(struct aws_op *op, const char *url,
                           const char *region, const struct credentials *keys,
                           struct davit_kv bound)
{
    struct kit_str authorization = {0}, host = {0};
    char date[SIGV4_DATE_SIZE], service[32];
    const char *at = url + strlen("https://");
    size_t n = strcspn(at, "/?");
    struct davit_kv h[5] = {{"host", NULL}, {"x-amz-date", date}};
    size_t n_headers = 2;
    kit_str_add(&host, at, n);
    h[0].value = host.p;
    snprintf(service, sizeof service, "%.*s", (int)strcspn(host.p, ".-"),
             host.p);
    sigv4_date(op->aws->host->wall_ms() + op->aws->clock_off_ms, date);
    if (keys->token)
        h[n_headers++] = (struct davit_kv){"x-amz-security-token", keys->token};
    h[n_headers++] = bound;
    const char *query = strchr(at, '?');
    struct sigv4 s = {.access_key = keys->access_key,
                      .secret_key = keys->secret_key,
                      .region = region,
                      .service = service,
                      .date = date,
                      .method = "POST",
                      .path = "/",
                      .query = query ? query + 1 : "",
                      .headers = h,
                      .n_headers = n_headers};
    sigv4_sign(&s, &authorization, NULL, NULL);
    h[n_headers++] = (struct davit_kv){"Authorization", authorization.p};
    json_t *j = described(url, h, n_headers);
    kit_str_done(&authorization);
    kit_str_done(&host);
    return j;
}

int aws_caller_identity(struct aws_op *op, const char *url_form,
                        struct davit_kv bound, json_t **ret)
{
    struct credentials keys = {0};
    struct kit_str url = {0};
    char region[48];
    *ret = NULL;
    int st = aws_region(op, region, sizeof region);
    if (st == DAVIT_OK)
        st = aws_keys(op, &keys);
    if (st == DAVIT_OK) {
        url_make(url_form, region, &url);
        if (strncmp(url.p, "https://", 8) == 0)
            *ret = signed_with(op, url.p, region, &keys, bound);
        else
            st = kit_error(op->error, DAVIT_AUTH, "credentials",
                           "%.100s is not https://", url.p);
    }
    credentials_free(&keys);
    kit_str_done(&url);
    return st;
}
