/*
 * auth.c - a token, from wherever Google's own libraries would take one.
 *
 * The file of credentials:, of GOOGLE_APPLICATION_CREDENTIALS, gcloud's own
 * application default, else the metadata server.  The file is read anew for
 * every token, so that a rotated key needs no restart.  Nothing of it, nor of
 * a token, ever goes into a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../jwt.h"
#include "gcp.h"

/* One fetch at work. */
struct at {
    struct gcp *g;
    struct davit_call *call;
    struct davit_error *e;
};

#define SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define SCOPE_IAM "https://www.googleapis.com/auth/iam"
#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define LIFE_S 3600

/* The endpoint's own message, which names the account or the audience at worst. */
static int refused(void *who, const struct davit_http *x, const json_t *j,
                   struct davit_error *e)
{
    const char *error = kit_json_text(j, "error");
    const char *text = kit_json_text(j, "error_description");
    enum davit_status s = x->reply_status == 429 ? DAVIT_THROTTLED
                          : x->reply_status >= 500 || x->reply_status == 408
                              ? DAVIT_RETRY
                              : DAVIT_AUTH;
    char code[48];
    if (*error == '\0')
        error = kit_json_text(j, "error.status");
    if (*text == '\0')
        text = kit_json_text(j, "error.message");
    snprintf(code, sizeof code, "HTTP %d %s", x->reply_status, error);
    return kit_error(e, s, code, "%s gives no token: %.120s", (const char *)who,
                     *text != '\0'    ? text
                     : *error != '\0' ? error
                                      : "no reason given");
}

/* Secrets go out with it, so a file may name only where they may go. */
static int ask(struct at *op, const struct kit_request *r, const char *who,
               struct davit_http *x, json_t **ret)
{
    const struct kit_api api = {.host = op->g->host,
                                .base = "",
                                .judge = refused,
                                .judged = (void *)who};
    size_t known = strlen(op->g->metadata_url);
    if (!kit_url_safe(r->url) &&
        (strncmp(r->url, op->g->metadata_url, known) != 0 ||
         r->url[known] != '/'))
        return kit_error(op->e, DAVIT_AUTH, "credentials",
                         "%s is at %.100s: no secret goes to http:// of "
                         "another machine",
                         who, r->url);
    int s = kit_exchange(&api, op->call, r, x, ret, op->e);
    if (s != DAVIT_OK) {
        json_decref(*ret);
        *ret = NULL;
    }
    return s;
}

static int ask_form(struct at *op, const char *url, const struct davit_kv *kv,
                    size_t n, const char *who, json_t **ret)
{
    struct davit_http x;
    char *form = kit_form(kv, n);
    int s = ask(
        op,
        &(struct kit_request){.method = "POST",
                              .url = url,
                              .body = form,
                              .type = "application/x-www-form-urlencoded"},
        who, &x, ret);
    kit_wipe(form);
    return s;
}

static int token_out(struct at *op, json_t *reply, char **ret,
                     int64_t *ret_lives_ms)
{
    const char *t = kit_json_text(reply, "access_token");
    int64_t lives = kit_json_int(reply, "expires_in", LIFE_S);
    int s = DAVIT_OK;
    if (*t == '\0')
        s = kit_error(op->e, DAVIT_AUTH, "BadToken",
                      "the reply has no access_token");
    else
        *ret = kit_copy(t);
    *ret_lives_ms = (lives > 0 && lives < 86400 ? lives : LIFE_S) * 1000;
    json_decref(reply);
    return s;
}

static const char *text_or(const json_t *j, const char *key,
                           const char *fallback)
{
    const char *s = kit_json_text(j, key);
    return *s != '\0' ? s : fallback;
}

/* ---- the ways */

static int from_metadata(struct at *op, char **ret, int64_t *lives)
{
    char url[600];
    json_t *reply = NULL;
    struct davit_http x;
    struct davit_kv flavor = {"Metadata-Flavor", "Google"};
    snprintf(url, sizeof url,
             "%s/computeMetadata/v1/instance/"
             "service-accounts/default/token?scopes=",
             op->g->metadata_url);
    kit_url_append(url, sizeof url, SCOPE);
    int s = ask(
        op,
        &(struct kit_request){
            .method = "GET", .url = url, .headers = &flavor, .n_headers = 1},
        "the metadata server", &x, &reply);
    if (s == DAVIT_RETRY && op->e && op->e->code[0] == '\0')
        return kit_error(op->e, DAVIT_RETRY, "credentials",
                         "no credentials, and the metadata server does not "
                         "answer (%.90s)",
                         op->e->text);
    return s == DAVIT_OK ? token_out(op, reply, ret, lives) : s;
}

static int from_key(struct at *op, const json_t *key, char **ret,
                    int64_t *lives)
{
    json_int_t now = op->g->host->wall_ms() / 1000;
    char *jwt;
    json_t *reply;
    const char *id = kit_json_text(key, "private_key_id");
    json_t *header = json_pack("{s:s, s:s}", "typ", "JWT", "alg", "RS256");
    /* The audience is Google's whatever endpoint the file names. */
    json_t *claims = json_pack(
        "{s:I, s:I, s:s, s:s, s:s}", "iat", now, "exp", now + LIFE_S, "iss",
        kit_json_text(key, "client_email"), "aud", TOKEN_URL, "scope", SCOPE);
    if (*id != '\0')
        json_object_set_new(header, "kid", json_string(id));
    int s = kit_jwt_rs256(header, claims, kit_json_text(key, "private_key"),
                          &jwt, op->e);
    json_decref(header);
    json_decref(claims);
    if (s != DAVIT_OK)
        return s;
    struct davit_kv form[] = {
        {"assertion", jwt},
        {"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}};
    s = ask_form(op, text_or(key, "token_uri", TOKEN_URL), form, 2,
                 "the token endpoint", &reply);
    kit_wipe(jwt);
    return s == DAVIT_OK ? token_out(op, reply, ret, lives) : s;
}

static int from_refresh(struct at *op, const json_t *file, char **ret,
                        int64_t *lives)
{
    json_t *reply;
    struct davit_kv form[] = {
        {"grant_type", "refresh_token"},
        {"client_id", kit_json_text(file, "client_id")},
        {"client_secret", kit_json_text(file, "client_secret")},
        {"refresh_token", kit_json_text(file, "refresh_token")}};
    int s = ask_form(op, text_or(file, "token_uri", TOKEN_URL), form, 4,
                     "the token endpoint", &reply);
    return s == DAVIT_OK ? token_out(op, reply, ret, lives) : s;
}

/* ---- workload identity federation */

/* The token of the other world, out of plain text or a field of JSON. */
static int subject_of(struct at *op, const json_t *source, char *text,
                      char **ret)
{
    if (strcmp(kit_json_text(source, "format.type"), "json") != 0) {
        size_t n = strlen(text);
        while (n > 0 && strchr("\r\n \t", text[n - 1]))
            text[--n] = '\0';
        *ret = kit_copy(text);
    } else {
        json_t *j = json_loads(text, 0, NULL);
        const char *field = text_or(source, "format.subject_token_field_name",
                                    "access_token");
        const char *v = json_string_value(json_object_get(j, field));
        *ret = kit_copy(v ? v : "");
        json_decref(j);
    }
    if (**ret != '\0')
        return DAVIT_OK;
    return kit_error(op->e, DAVIT_AUTH, "credentials",
                     "the credential source holds no subject token");
}

static int subject_from_url(struct at *op, const json_t *source, char **ret)
{
    struct davit_kv headers[16];
    size_t n = 0;
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(source, "headers"), key, v)
        if (n < 16 && json_is_string(v))
            headers[n++] = (struct davit_kv){key, json_string_value(v)};
    struct davit_http x;
    json_t *reply = NULL;
    int s = ask(op,
                &(struct kit_request){.method = "GET",
                                      .url = kit_json_text(source, "url"),
                                      .headers = headers,
                                      .n_headers = n,
                                      .loose = true},
                "the credential source", &x, &reply);
    json_decref(reply);
    if (s != DAVIT_OK)
        return s;
    char *text = kit_copy(x.reply_body);
    s = subject_of(op, source, text, ret);
    kit_wipe(text);
    return s;
}

static int subject_read(struct at *op, const json_t *file, char **ret)
{
    const json_t *source = json_object_get(file, "credential_source");
    const char *path = kit_json_text(source, "file");
    if (*path != '\0') {
        char *text;
        int s = kit_file_read(path, "the subject token", &text, op->e);
        if (s == DAVIT_OK)
            s = subject_of(op, source, text, ret);
        kit_wipe(text);
        return s;
    }
    if (*kit_json_text(source, "url") != '\0')
        return subject_from_url(op, source, ret);
    return kit_error(op->e, DAVIT_AUTH, "credentials",
                     "credential_source must have file or url; aws and "
                     "executable are not supported");
}

static int impersonate(struct at *op, const json_t *file, const char *token,
                       char **ret, int64_t *lives)
{
    char life[24];
    json_t *reply = NULL;
    struct davit_http x;
    char *bearer = kit_print("Bearer %s", token);
    const struct davit_kv header = {"Authorization", bearer};
    snprintf(life, sizeof life, "%llds",
             (long long)kit_json_int(
                 file, "service_account_impersonation.token_lifetime_seconds",
                 LIFE_S));
    json_t *j = json_pack("{s:[s], s:s}", "scope", SCOPE, "lifetime", life);
    int s = ask(
        op,
        &(struct kit_request){
            .method = "POST",
            .json = j,
            .headers = &header,
            .n_headers = 1,
            .url = kit_json_text(file, "service_account_impersonation_url")},
        "the service account", &x, &reply);
    json_decref(j);
    kit_wipe(bearer);
    if (s != DAVIT_OK)
        return s;
    int64_t until = kit_time_ms(kit_json_text(reply, "expireTime"));
    int64_t left = until - op->g->host->wall_ms();
    json_t *plain = json_pack(
        "{s:s, s:I}", "access_token", kit_json_text(reply, "accessToken"),
        "expires_in",
        (json_int_t)(until > 0 && left > 0 ? left / 1000 : LIFE_S));
    json_decref(reply);
    return token_out(op, plain, ret, lives);
}

static int from_federation(struct at *op, const json_t *file, char **ret,
                           int64_t *lives)
{
    char *subject = NULL;
    json_t *reply;
    bool as = *kit_json_text(file, "service_account_impersonation_url") != 0;
    int s = subject_read(op, file, &subject);
    if (s != DAVIT_OK) {
        kit_wipe(subject);
        return s;
    }
    struct davit_kv form[] = {
        {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
        {"audience", kit_json_text(file, "audience")},
        {"scope", as ? SCOPE_IAM : SCOPE},
        {"requested_token_type",
         "urn:ietf:params:oauth:token-type:access_token"},
        {"subject_token", subject},
        {"subject_token_type", kit_json_text(file, "subject_token_type")}};
    s = ask_form(
        op, text_or(file, "token_url", "https://sts.googleapis.com/v1/token"),
        form, 6, "the token exchange", &reply);
    kit_wipe(subject);
    if (s != DAVIT_OK)
        return s;
    s = token_out(op, reply, ret, lives);
    if (s != DAVIT_OK || !as)
        return s;
    char *federated = *ret;
    *ret = NULL;
    s = impersonate(op, file, federated, ret, lives);
    kit_wipe(federated);
    return s;
}

/* ---- which of them */

/* The file to use, or "": the metadata server. */
static void file_choose(const struct gcp *g, char *ret, size_t size)
{
    const char *env = getenv("GOOGLE_APPLICATION_CREDENTIALS");
    const char *config = getenv("CLOUDSDK_CONFIG"), *home = getenv("HOME");
    ret[0] = '\0';
    if (g->credentials) {
        snprintf(ret, size, "%s", g->credentials);
    } else if (env && env[0] != '\0') {
        snprintf(ret, size, "%s", env);
    } else {
        if (config && config[0] != '\0')
            snprintf(ret, size, "%s/application_default_credentials.json",
                     config);
        else if (home)
            snprintf(ret, size,
                     "%s/.config/gcloud/application_default_credentials.json",
                     home);
        FILE *f = fopen(ret, "rb");
        if (!f)
            ret[0] = '\0';
        else
            fclose(f);
    }
}

static int from_file(struct at *op, const char *path, char **ret,
                     int64_t *lives)
{
    static const struct {
        const char *type;
        int (*get)(struct at *, const json_t *, char **, int64_t *);
    } ways[] = {{"service_account", from_key},
                {"external_account", from_federation},
                {"authorized_user", from_refresh}};
    char *text;
    int s = kit_file_read(path, "credentials file", &text, op->e);
    if (s != DAVIT_OK)
        return s;
    json_t *j = json_loads(text, 0, NULL);
    const char *type = kit_json_text(j, "type");
    size_t i = 0, n = sizeof ways / sizeof *ways;
    kit_wipe(text);
    while (i < n && strcmp(ways[i].type, type) != 0)
        i++;
    s = i < n ? ways[i].get(op, j, ret, lives)
              : kit_error(op->e, DAVIT_AUTH, "credentials",
                          "credentials file %.80s is of type \"%.40s\"; "
                          "service_account, external_account or "
                          "authorized_user is wanted",
                          path, type);
    json_decref(j);
    return s;
}

int gcp_token_fetch(void *arg, struct davit_call *call, char **ret_value,
                    int64_t *ret_lives_ms, struct davit_error *e)
{
    struct at op = {arg, call, e};
    char path[1024];
    *ret_value = NULL;
    file_choose(op.g, path, sizeof path);
    return path[0] != '\0' ? from_file(&op, path, ret_value, ret_lives_ms)
                           : from_metadata(&op, ret_value, ret_lives_ms);
}
