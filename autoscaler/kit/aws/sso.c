/*
 * sso.c - IAM Identity Center (SSO): the token of `aws sso login`, from its
 * cache, becomes a role's keys
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html).
 *
 * As botocore does it: the token's file is named after the SHA-1 of the session's
 * name, or of the start URL where a profile has no session; one that ends within
 * a quarter of an hour is renewed, if it can be, and kept for other programs too.
 */
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inside.h"

#define RENEW_MS (15 * 60000)

struct sso {
    struct aws_op *op;
    const char *profile, *session, *start, *region, *role, *account;
    char path[1024]; /* of the token's file */
};

static void path_make(struct sso *s)
{
    const char *key = s->session ? s->session : s->start,
               *home = getenv("HOME");
    unsigned char d[SHA_DIGEST_LENGTH];
    char hex[2 * SHA_DIGEST_LENGTH + 1];
    SHA1((const unsigned char *)key, strlen(key), d);
    for (size_t i = 0; i < sizeof d; i++)
        snprintf(hex + 2 * i, 3, "%02x", d[i]);
    snprintf(s->path, sizeof s->path, "%.900s/.aws/sso/cache/%s.json",
             home ? home : "", hex);
}

static int login_needed(const struct sso *s, const char *why)
{
    return kit_error(s->op->error, DAVIT_AUTH, "SSO",
                     "%s: run aws sso login --profile %.60s as the user that "
                     "davit runs as",
                     why, s->profile);
}

/* One unsigned request; for json_decref(*ret). */
static int ask(struct sso *s, enum aws_service service, const char *method,
               const char *path, const struct davit_kv *header, json_t *body,
               json_t **ret)
{
    struct kit_str url = {0};
    char *text = body ? kit_must(json_dumps(body, JSON_COMPACT)) : NULL;
    *ret = NULL;
    int st = aws_endpoint(s->op, service, s->region, &url);
    if (st == DAVIT_OK) {
        kit_str_puts(&url, path);
        struct davit_http x = {.size = sizeof x,
                               .method = method,
                               .url = url.p,
                               .headers = header,
                               .n_headers = 1,
                               .body = text,
                               .body_len = text ? strlen(text) : 0};
        st = aws_plain(s->op, &x);
        if (st == DAVIT_OK && !(*ret = kit_json_reply(&x, s->op->error)))
            st = DAVIT_RETRY;
    }
    kit_wipe(text);
    kit_str_done(&url);
    return st;
}

/* ---- the token */

/* Whole or not at all, and nobody else's to read. */
static void token_keep(const struct sso *s, const json_t *token)
{
    char *part = kit_print("%s.%ld", s->path, (long)getpid());
    char *text = kit_must(json_dumps(token, 0));
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  0600);
    bool good = fd >= 0 &&
                write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        good = close(fd) == 0 && good;
    if (!good || rename(part, s->path) != 0)
        unlink(part); /* the next start renews it again */
    kit_wipe(text);
    free(part);
}

/* By its refresh token; a token that cannot be renewed is used to its end. */
static void token_renew(struct sso *s, json_t *token)
{
    static const char *const needed[] = {"clientId", "clientSecret",
                                         "refreshToken"};
    const struct davit_kv type = {"Content-Type", "application/json"};
    int64_t now = s->op->aws->host->wall_ms();
    char until[40];
    json_t *reply;
    for (size_t i = 0; i < 3; i++)
        if (*kit_json_text(token, needed[i]) == '\0')
            return;
    if (kit_time_ms(kit_json_text(token, "registrationExpiresAt")) <= now)
        return;
    json_t *body = json_pack(
        "{s:s, s:s, s:s, s:s}", "grantType", "refresh_token", "clientId",
        kit_json_text(token, "clientId"), "clientSecret",
        kit_json_text(token, "clientSecret"), "refreshToken",
        kit_json_text(token, "refreshToken"));
    int st = ask(s, AWS_SSO_OIDC, "POST", "/token", &type, body, &reply);
    json_decref(body);
    if (st == DAVIT_OK && *kit_json_text(reply, "accessToken") != '\0') {
        json_object_set(token, "accessToken",
                        json_object_get(reply, "accessToken"));
        if (*kit_json_text(reply, "refreshToken") != '\0')
            json_object_set(token, "refreshToken",
                            json_object_get(reply, "refreshToken"));
        time_t end = (time_t)(now / 1000 + kit_json_int(reply, "expiresIn", 0));
        struct tm tm;
        strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ",
                 gmtime_r(&end, &tm));
        json_object_set_new(token, "expiresAt", json_string(until));
        token_keep(s, token);
    }
    json_decref(reply);
}

static int token_read(struct sso *s, char **ret)
{
    char *text;
    if (kit_file_read(s->path, "the token", &text, NULL) != DAVIT_OK)
        return login_needed(s, "nobody has logged in");
    json_t *token = json_loads(text, 0, NULL);
    int64_t now = s->op->aws->host->wall_ms();
    kit_wipe(text);
    if (s->session &&
        kit_time_ms(kit_json_text(token, "expiresAt")) - now < RENEW_MS)
        token_renew(s, token);
    int st = kit_time_ms(kit_json_text(token, "expiresAt")) <= now
                 ? login_needed(s, "the login has ended")
                 : DAVIT_OK;
    *ret = st == DAVIT_OK ? kit_copy(kit_json_text(token, "accessToken"))
                          : NULL;
    json_decref(token);
    return st;
}

/* ---- the keys */

static int keys_take(struct sso *s, const json_t *reply,
                     struct credentials *ret)
{
    const json_t *c = json_object_get(reply, "roleCredentials");
    if (!credentials_set(ret, kit_json_text(c, "accessKeyId"),
                         kit_json_text(c, "secretAccessKey"),
                         kit_json_text(c, "sessionToken"), NULL))
        return kit_error(s->op->error, DAVIT_RETRY, "BadReply",
                         "SSO answered without credentials");
    ret->expires_ms = kit_json_int(c, "expiration", 0);
    return DAVIT_OK;
}

static int keys_ask(struct sso *s, const char *token, struct credentials *ret)
{
    const struct davit_kv bearer = {"x-amz-sso_bearer_token", token};
    struct kit_str path = {0};
    json_t *reply;
    kit_str_puts(&path, "/federation/credentials?role_name=");
    kit_str_encode(&path, s->role, strlen(s->role), "");
    kit_str_puts(&path, "&account_id=");
    kit_str_encode(&path, s->account, strlen(s->account), "");
    int st = ask(s, AWS_SSO, "GET", path.p, &bearer, NULL, &reply);
    kit_str_done(&path);
    if (st == DAVIT_OK)
        st = keys_take(s, reply, ret);
    else if (st == DAVIT_AUTH)
        st = login_needed(s, "SSO does not take the login's token, or gives "
                             "this role to nobody");
    json_decref(reply);
    return st;
}

static const char *of_either(const struct profile *session,
                             const struct profile *p, const char *key)
{
    const char *v = profile_get(session, key);
    return v ? v : profile_get(p, key);
}

int sso_keys(struct aws_op *op, const struct profile *p, const char *name,
             struct credentials *ret)
{
    const char *session = profile_get(p, "sso_session");
    struct profile *shared = session ? profile_session(session) : NULL;
    struct sso s = {.op = op,
                    .profile = name,
                    .session = session,
                    .start = of_either(shared, p, "sso_start_url"),
                    .region = of_either(shared, p, "sso_region"),
                    .role = profile_get(p, "sso_role_name"),
                    .account = profile_get(p, "sso_account_id")};
    char *token = NULL;
    int st = DAVIT_OK;
    if ((session && !shared) || !s.start || !s.region || !s.role || !s.account)
        st = kit_error(op->error, DAVIT_AUTH, "BadProfile",
                       "profile %.60s wants SSO, which needs sso_role_name, "
                       "sso_account_id, and sso_start_url and sso_region there "
                       "or in its [sso-session]",
                       name);
    if (st == DAVIT_OK) {
        path_make(&s);
        st = token_read(&s, &token);
    }
    if (st == DAVIT_OK)
        st = keys_ask(&s, token, ret);
    kit_wipe(token);
    profile_free(shared);
    return st;
}
