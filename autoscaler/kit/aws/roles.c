/*
 * roles.c - credentials that somebody gives us for a while: STS for a web
 * identity (IRSA) or for other credentials, the container agent (EKS pod
 * identity, ECS), and the instance metadata service, version 2 only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

void credentials_free(struct credentials *c)
{
    kit_wipe(c->access_key);
    kit_wipe(c->secret_key);
    kit_wipe(c->token);
    kit_wipe(c->text);
    *c = (struct credentials){0};
}

bool credentials_set(struct credentials *c, const char *access,
                     const char *secret, const char *token,
                     const char *expiration)
{
    credentials_free(c);
    if (!access || access[0] == '\0' || !secret || secret[0] == '\0')
        return false;
    c->access_key = kit_copy(access);
    c->secret_key = kit_copy(secret);
    c->token = token && token[0] != '\0' ? kit_copy(token) : NULL;
    c->expires_ms = expiration && expiration[0] != '\0'
                        ? kit_time_ms(expiration)
                        : INT64_MAX;
    return true;
}

static int take_sts(struct aws_op *op, const struct xml *x,
                    struct credentials *ret)
{
    const struct xml *c = xml_at(x, "Credentials");
    if (credentials_set(ret, xml_text(c, "AccessKeyId"),
                        xml_text(c, "SecretAccessKey"),
                        xml_text(c, "SessionToken"), xml_text(c, "Expiration")))
        return DAVIT_OK;
    return kit_error(op->error, DAVIT_RETRY, "BadReply",
                     "STS answered without credentials");
}

int role_by_web_identity(struct aws_op *op, const char *role, const char *file,
                         const char *session, struct credentials *ret)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    char *token;
    int st = kit_file_read(file, "the web identity token", &token, op->error);
    if (st != DAVIT_OK)
        return st;
    aws_form_begin(&form, AWS_STS, "AssumeRoleWithWebIdentity");
    kit_str_param(&form, "RoleArn", role);
    kit_str_param(&form, "RoleSessionName", session);
    kit_str_param(&form, "WebIdentityToken", token);
    kit_str_param(&form, "DurationSeconds", "3600");
    kit_wipe(token);
    st = aws_query_as(op, AWS_STS, &form, NULL, &doc, &x);
    if (st == DAVIT_OK)
        st = take_sts(op, xml_at(x, "AssumeRoleWithWebIdentityResult"), ret);
    explicit_bzero(form.p, form.n);
    kit_str_done(&form);
    xml_free(doc);
    return st;
}

int role_by_keys(struct aws_op *op, const char *role, const char *session,
                 const char *external_id, const struct credentials *by,
                 struct credentials *ret)
{
    struct kit_str form = {0};
    struct xml_doc *doc;
    const struct xml *x;
    aws_form_begin(&form, AWS_STS, "AssumeRole");
    kit_str_param(&form, "RoleArn", role);
    kit_str_param(&form, "RoleSessionName", session);
    kit_str_param(&form, "DurationSeconds", "3600");
    if (external_id)
        kit_str_param(&form, "ExternalId", external_id);
    int st = aws_query_as(op, AWS_STS, &form, by, &doc, &x);
    if (st == DAVIT_OK)
        st = take_sts(op, xml_at(x, "AssumeRoleResult"), ret);
    kit_str_done(&form);
    xml_free(doc);
    return st;
}

static int take_json(struct aws_op *op, const struct davit_http *x,
                     struct credentials *ret)
{
    json_t *j = json_loadb(x->reply_body, x->reply_len, 0, NULL);
    const char *code = kit_json_text(j, "Code");
    bool good = (*code == '\0' || strcmp(code, "Success") == 0) &&
                credentials_set(ret, kit_json_text(j, "AccessKeyId"),
                                kit_json_text(j, "SecretAccessKey"),
                                kit_json_text(j, "Token"),
                                kit_json_text(j, "Expiration"));
    int st = good ? DAVIT_OK
                  : kit_error(op->error, DAVIT_RETRY, "BadReply",
                              "%.80s answered without credentials%s%.40s",
                              x->url, *code != '\0' ? ": " : "", code);
    json_decref(j);
    return st;
}

int container_keys(struct aws_op *op, struct credentials *ret)
{
    const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *file = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *given = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct kit_str uri = {0};
    struct davit_kv h[2] = {{"Accept", "application/json"}};
    char *token = NULL;
    if (relative && relative[0] != '\0')
        kit_str_printf(&uri, "http://169.254.170.2%s", relative);
    else
        kit_str_puts(&uri, full);
    struct davit_http x = {.size = sizeof x,
                           .method = "GET",
                           .url = uri.p,
                           .headers = h,
                           .n_headers = 1};
    int st = DAVIT_OK;
    if (!kit_url_safe(uri.p))
        st = kit_error(op->error, DAVIT_AUTH, "BadAgentAddress",
                       "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, "
                       "loopback or a link-local agent, not %.80s",
                       uri.p);
    if (file && file[0] != '\0') {
        int got = kit_file_read(file, "the agent's token", &token, op->error);
        st = st == DAVIT_OK ? got : st;
    } else if (given && given[0] != '\0') {
        token = kit_copy(given);
    }
    if (token) {
        h[x.n_headers++] = (struct davit_kv){"Authorization", token};
    }
    if (st == DAVIT_OK)
        st = aws_plain(op, &x);
    if (st == DAVIT_OK)
        st = take_json(op, &x, ret);
    kit_wipe(token);
    kit_str_done(&uri);
    return st;
}

/* ---- the instance metadata service */

static int metadata_get(struct aws_op *op, const char *method, const char *path,
                        const struct davit_kv *header, struct davit_http *x,
                        struct kit_str *url)
{
    kit_str_clear(url);
    kit_str_printf(url, "%s%s", op->aws->metadata, path);
    *x = (struct davit_http){.size = sizeof *x,
                             .method = method,
                             .url = url->p,
                             .headers = header,
                             .n_headers = 1};
    return aws_plain(op, x);
}

/* A session token first: version 1, without one, is not spoken. */
static int metadata_read(struct aws_op *op, const char *path, const char *then,
                         struct davit_http *x, struct kit_str *url)
{
    const struct davit_kv ttl = {"X-aws-ec2-metadata-token-ttl-seconds",
                                 "21600"};
    const char *off = getenv("AWS_EC2_METADATA_DISABLED");
    if (off && strcasecmp(off, "true") == 0)
        return kit_error(op->error, DAVIT_AUTH, "NoCredentials",
                         "no AWS credentials were found, and the metadata "
                         "service is disabled");
    int st = metadata_get(op, "PUT", "/latest/api/token", &ttl, x, url);
    if (st != DAVIT_OK)
        return st;
    struct davit_kv session = {"X-aws-ec2-metadata-token", x->reply_body};
    st = metadata_get(op, "GET", path, &session, x, url);
    if (st != DAVIT_OK || !then)
        return st;
    /* The role's name is one line; it is part of the next path. */
    char role[128];
    snprintf(role, sizeof role, "%.*s", (int)strcspn(x->reply_body, "\r\n"),
             x->reply_body);
    struct kit_str next = {0};
    kit_str_puts(&next, path);
    kit_str_encode(&next, role, strlen(role), "");
    st = metadata_get(op, "GET", next.p, &session, x, url);
    kit_str_done(&next);
    return st;
}

int metadata_keys(struct aws_op *op, struct credentials *ret)
{
    struct davit_http x;
    struct kit_str url = {0};
    int st = metadata_read(op, "/latest/meta-data/iam/security-credentials/",
                           "role", &x, &url);
    if (st == DAVIT_OK)
        st = take_json(op, &x, ret);
    kit_str_done(&url);
    return st;
}

static int metadata_line(struct aws_op *op, const char *path, char *ret,
                         size_t size)
{
    struct davit_http x;
    struct kit_str url = {0};
    int st = metadata_read(op, path, NULL, &x, &url);
    if (st == DAVIT_OK)
        snprintf(ret, size, "%.*s", (int)strcspn(x.reply_body, "\r\n"),
                 x.reply_body);
    kit_str_done(&url);
    return st;
}

int metadata_region(struct aws_op *op, char *ret, size_t size)
{
    return metadata_line(op, "/latest/meta-data/placement/region", ret, size);
}

int aws_own_address(struct aws_op *op, char *ret, size_t size)
{
    return metadata_line(op, "/latest/meta-data/local-ipv4", ret, size);
}
