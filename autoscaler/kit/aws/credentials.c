/*
 * credentials.c - whose credentials to use, and until when.
 *
 * The order is that of the AWS SDKs: environment, web identity, the profile's
 * role, SSO, keys or program, the container agent, the instance's role.  Cached per handle
 * (kit/token.h).  No secret is ever in a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

#define FOREVER_MS (3650 * INT64_C(86400000))
#define SOURCES_MAX 5 /* profiles that lend to each other */

static const char *env(const char *name)
{
    const char *v = getenv(name);
    return v && v[0] != '\0' ? v : NULL;
}

const char *aws_profile_name(const struct aws_op *op)
{
    if (op->aws->profile)
        return op->aws->profile;
    return env("AWS_PROFILE") ? env("AWS_PROFILE") : "default";
}

static const char *session_of(const char *given, char buf[64],
                              const struct aws_op *op)
{
    if (given)
        return given;
    snprintf(buf, 64, "davit-%.50s", op->aws->session);
    for (char *c = buf; *c != '\0'; c++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789_=,.@-",
                    *c))
            *c = '-';
    return buf;
}

static int by_environment(struct credentials *ret)
{
    return credentials_set(ret, env("AWS_ACCESS_KEY_ID"),
                           env("AWS_SECRET_ACCESS_KEY"),
                           env("AWS_SESSION_TOKEN"), NULL)
               ? DAVIT_OK
               : DAVIT_NOT_FOUND;
}

static int by_profile(struct aws_op *op, const char *name, int depth,
                      struct credentials *ret);

static int by_source(struct aws_op *op, const struct profile *p,
                     const char *name, int depth, struct credentials *ret)
{
    const char *source = profile_get(p, "source_profile");
    const char *kind = profile_get(p, "credential_source");
    if (source && strcmp(source, name) == 0)
        return credentials_set(ret, profile_get(p, "aws_access_key_id"),
                               profile_get(p, "aws_secret_access_key"),
                               profile_get(p, "aws_session_token"), NULL)
                   ? DAVIT_OK
                   : kit_error(op->error, DAVIT_AUTH, "BadProfile",
                               "profile %.60s names itself as its source and "
                               "has no keys",
                               name);
    if (source)
        return by_profile(op, source, depth + 1, ret);
    if (kind && strcmp(kind, "Environment") == 0)
        return by_environment(ret);
    if (kind && strcmp(kind, "Ec2InstanceMetadata") == 0)
        return metadata_keys(op, ret);
    if (kind && strcmp(kind, "EcsContainer") == 0 &&
        (env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
         env("AWS_CONTAINER_CREDENTIALS_FULL_URI")))
        return container_keys(op, ret);
    return DAVIT_NOT_FOUND;
}

/* What a profile has beside roles, in botocore's order. */
static int by_own_words(struct aws_op *op, const struct profile *p,
                        const char *name, struct credentials *ret)
{
    const char *command = profile_get(p, "credential_process");
    if (profile_get(p, "sso_role_name") || profile_get(p, "sso_account_id"))
        return sso_keys(op, p, name, ret);
    if (credentials_set(ret, profile_get(p, "aws_access_key_id"),
                        profile_get(p, "aws_secret_access_key"),
                        profile_get(p, "aws_session_token"), NULL))
        return DAVIT_OK;
    return command ? process_keys(op, command, ret) : DAVIT_NOT_FOUND;
}

/* NOT_FOUND: the profile says nothing of credentials. */
static int by_profile(struct aws_op *op, const char *name, int depth,
                      struct credentials *ret)
{
    struct credentials lent = {0};
    char buf[64];
    if (depth > SOURCES_MAX)
        return kit_error(op->error, DAVIT_AUTH, "BadProfile",
                         "profiles name each other as source_profile without "
                         "end, at %.60s",
                         name);
    struct profile *p = profile_read(name);
    if (!p && (op->aws->profile || env("AWS_PROFILE")))
        return kit_error(op->error, DAVIT_AUTH, "NoProfile",
                         "there is no profile %.60s in the AWS credentials or "
                         "config file",
                         name);
    const char *role = profile_get(p, "role_arn");
    const char *file = profile_get(p, "web_identity_token_file");
    const char *session = session_of(profile_get(p, "role_session_name"), buf,
                                     op);
    int st;
    if (role && file) {
        st = role_by_web_identity(op, role, file, session, ret);
    } else if (role) {
        st = by_source(op, p, name, depth, &lent);
        if (st == DAVIT_NOT_FOUND)
            st = kit_error(op->error, DAVIT_AUTH, "BadProfile",
                           "profile %.60s has a role_arn but no "
                           "source_profile, credential_source or "
                           "web_identity_token_file that helps",
                           name);
        else if (st == DAVIT_OK)
            st = role_by_keys(op, role, session, profile_get(p, "external_id"),
                              &lent, ret);
        credentials_free(&lent);
    } else {
        st = by_own_words(op, p, name, ret);
    }
    profile_free(p);
    return st;
}

static int keys_fetch(struct aws_op *op, struct credentials *ret)
{
    char buf[64];
    if (!op->aws->profile && by_environment(ret) == DAVIT_OK)
        return DAVIT_OK;
    if (!op->aws->profile && env("AWS_WEB_IDENTITY_TOKEN_FILE") &&
        env("AWS_ROLE_ARN"))
        return role_by_web_identity(
            op, env("AWS_ROLE_ARN"), env("AWS_WEB_IDENTITY_TOKEN_FILE"),
            session_of(env("AWS_ROLE_SESSION_NAME"), buf, op), ret);
    int st = by_profile(op, aws_profile_name(op), 0, ret);
    if (st != DAVIT_NOT_FOUND)
        return st;
    if (env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
        env("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
        return container_keys(op, ret);
    st = metadata_keys(op, ret);
    if (st == DAVIT_RETRY && op->error &&
        strncmp(op->error->code, "HTTP", 4) != 0)
        kit_error(op->error, DAVIT_RETRY, "NoCredentials",
                  "no AWS credentials in the environment, the profile or a "
                  "container agent, and no instance metadata at %.60s",
                  op->aws->metadata);
    return st;
}

/* The keys as one text, which is what kit/token.h keeps and renews. */
static int keys_text(void *arg, struct davit_call *call, char **ret,
                     int64_t *ret_lives_ms, struct davit_error *error)
{
    struct aws_op op = {.aws = arg, .call = call, .error = error};
    struct credentials c = {0};
    int st = keys_fetch(&op, &c);
    if (st != DAVIT_OK)
        return st;
    json_t *j = json_pack("{s:s, s:s, s:s}", "access", c.access_key, "secret",
                          c.secret_key, "token", c.token ? c.token : "");
    *ret = json_dumps(j, JSON_COMPACT);
    *ret_lives_ms = c.expires_ms == INT64_MAX
                        ? FOREVER_MS
                        : c.expires_ms - op.aws->host->wall_ms();
    json_decref(j);
    credentials_free(&c);
    return DAVIT_OK;
}

int aws_keys(struct aws_op *op, struct credentials *ret)
{
    char *text;
    int st = kit_token_get(&op->aws->keys, op->aws->host, op->call, keys_text,
                           op->aws, &text, op->error);
    if (st != DAVIT_OK)
        return st;
    json_t *j = json_loads(text, 0, NULL);
    credentials_set(ret, kit_json_text(j, "access"), kit_json_text(j, "secret"),
                    kit_json_text(j, "token"), NULL);
    ret->text = text;
    json_decref(j);
    return DAVIT_OK;
}

int aws_region(struct aws_op *op, char *ret, size_t size)
{
    struct aws *a = op->aws;
    char found[48] = "";
    int st = DAVIT_OK;
    pthread_mutex_lock(&a->lock);
    snprintf(ret, size, "%s", a->region);
    pthread_mutex_unlock(&a->lock);
    if (ret[0] != '\0')
        return DAVIT_OK;
    struct profile *p = profile_read(aws_profile_name(op));
    const char *known = a->region_given             ? a->region_given
                        : env("AWS_REGION")         ? env("AWS_REGION")
                        : env("AWS_DEFAULT_REGION") ? env("AWS_DEFAULT_REGION")
                                                    : profile_get(p, "region");
    if (known)
        snprintf(found, sizeof found, "%s", known);
    profile_free(p);
    if (found[0] == '\0')
        st = metadata_region(op, found, sizeof found);
    if (st == DAVIT_OK &&
        strspn(found, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(found))
        st = kit_error(op->error, DAVIT_AUTH, "BadRegion",
                       "\"%.40s\" is no region", found);
    if (st != DAVIT_OK || found[0] == '\0')
        return st != DAVIT_OK
                   ? st
                   : kit_error(op->error, DAVIT_AUTH, "NoRegion",
                               "set region: for this provider, AWS_REGION, or "
                               "region in the profile");
    pthread_mutex_lock(&a->lock);
    snprintf(a->region, sizeof a->region, "%s", found);
    pthread_mutex_unlock(&a->lock);
    snprintf(ret, size, "%s", found);
    return DAVIT_OK;
}
