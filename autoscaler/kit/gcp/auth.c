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
#include "inside.h"

#define TOKEN_URL "https://oauth2.googleapis.com/token"

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
int gcp_ask(struct at *op, const struct kit_request *r, const char *who,
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

int gcp_ask_form(struct at *op, const char *url, const struct davit_kv *kv,
                 size_t n, const char *who, json_t **ret)
{
    struct davit_http x;
    char *form = kit_form(kv, n);
    int s = gcp_ask(
        op,
        &(struct kit_request){.method = "POST",
                              .url = url,
                              .body = form,
                              .type = "application/x-www-form-urlencoded"},
        who, &x, ret);
    kit_wipe(form);
    return s;
}

int gcp_token_out(struct at *op, json_t *reply, char **ret,
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

const char *gcp_text_or(const json_t *j, const char *key, const char *fallback)
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
    int s = gcp_ask(
        op,
        &(struct kit_request){
            .method = "GET", .url = url, .headers = &flavor, .n_headers = 1},
        "the metadata server", &x, &reply);
    if (s == DAVIT_RETRY && op->e && op->e->code[0] == '\0')
        return kit_error(op->e, DAVIT_RETRY, "credentials",
                         "no credentials: no file of them is there "
                         "(GOOGLE_APPLICATION_CREDENTIALS, gcloud), and the "
                         "metadata server %.60s does not answer",
                         op->g->metadata_url);
    return s == DAVIT_OK ? gcp_token_out(op, reply, ret, lives) : s;
}

/* A key belongs to one universe; its secret goes to no other. */
static int universe_check(struct at *op, const json_t *file)
{
    const char *own = gcp_text_or(file, "universe_domain", GCP_UNIVERSE_USUAL);
    if (strcmp(own, op->g->universe) == 0)
        return DAVIT_OK;
    return kit_error(op->e, DAVIT_AUTH, "universe_domain",
                     "the credentials are of %.60s, universe_domain says %.60s",
                     own, op->g->universe);
}

static bool is_usual(const struct gcp *g)
{
    return strcmp(g->universe, GCP_UNIVERSE_USUAL) == 0;
}

/* Other universes take what a key has signed as the token itself
 * (google.aip.dev/auth/4111): there is no token endpoint. */
static int key_signed(struct at *op, const json_t *header, const json_t *key,
                      char **ret, int64_t *lives)
{
    json_int_t now = op->g->host->wall_ms() / 1000;
    const char *who = kit_json_text(key, "client_email");
    json_t *claims = json_pack("{s:s, s:s, s:I, s:I, s:s}", "iss", who, "sub",
                               who, "iat", now, "exp", now + LIFE_S, "scope",
                               op->scope);
    int s = kit_jwt_rs256(header, claims, kit_json_text(key, "private_key"),
                          ret, op->e);
    *lives = LIFE_S * INT64_C(1000);
    json_decref(claims);
    return s;
}

static int key_exchanged(struct at *op, const json_t *header, const json_t *key,
                         char **ret, int64_t *lives)
{
    json_int_t now = op->g->host->wall_ms() / 1000;
    char *jwt;
    json_t *reply;
    /* The audience is Google's whatever endpoint the file names. */
    json_t *claims = json_pack("{s:I, s:I, s:s, s:s, s:s}", "iat", now, "exp",
                               now + LIFE_S, "iss",
                               kit_json_text(key, "client_email"), "aud",
                               TOKEN_URL, "scope", op->scope);
    int s = kit_jwt_rs256(header, claims, kit_json_text(key, "private_key"),
                          &jwt, op->e);
    json_decref(claims);
    if (s != DAVIT_OK)
        return s;
    struct davit_kv form[] = {
        {"assertion", jwt},
        {"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}};
    s = gcp_ask_form(op, gcp_text_or(key, "token_uri", TOKEN_URL), form, 2,
                     "the token endpoint", &reply);
    kit_wipe(jwt);
    return s == DAVIT_OK ? gcp_token_out(op, reply, ret, lives) : s;
}

static int from_key(struct at *op, const json_t *key, char **ret,
                    int64_t *lives)
{
    const char *id = kit_json_text(key, "private_key_id");
    json_t *header = json_pack("{s:s, s:s}", "typ", "JWT", "alg", "RS256");
    if (*id != '\0')
        json_object_set_new(header, "kid", json_string(id));
    int s = universe_check(op, key);
    if (s == DAVIT_OK)
        s = is_usual(op->g) ? key_exchanged(op, header, key, ret, lives)
                            : key_signed(op, header, key, ret, lives);
    json_decref(header);
    return s;
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
    int s = gcp_ask_form(op, gcp_text_or(file, "token_uri", TOKEN_URL), form, 4,
                         "the token endpoint", &reply);
    return s == DAVIT_OK ? gcp_token_out(op, reply, ret, lives) : s;
}

static int from_impersonated(struct at *, const json_t *, char **, int64_t *);

/* Of any of the types; whole: what stands in another may not be of all. */
static int from_json(struct at *op, const json_t *j, const char *what,
                     bool whole, char **ret, int64_t *lives)
{
    static const struct {
        const char *type;
        int (*get)(struct at *, const json_t *, char **, int64_t *);
        bool inner;
    } ways[] = {{"service_account", from_key, true},
                {"external_account", gcp_from_federation, false},
                {"authorized_user", from_refresh, true},
                {"impersonated_service_account", from_impersonated, false}};
    const char *type = kit_json_text(j, "type");
    *ret = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].type, type) == 0 && (whole || ways[i].inner))
            return ways[i].get(op, j, ret, lives);
    return kit_error(
        op->e, DAVIT_AUTH, "credentials",
        "%.72s is of type \"%.30s\"; wanted is service_account%s "
        "or authorized_user",
        what, type,
        whole ? ", external_account, impersonated_service_account" : "");
}

/* ---- as another service account */

int gcp_impersonate(struct at *op, const json_t *file, const char *token,
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
    if (json_array_size(json_object_get(file, "delegates")) > 0)
        json_object_set(j, "delegates", json_object_get(file, "delegates"));
    int s = gcp_ask(
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
    return gcp_token_out(op, plain, ret, lives);
}

/* gcloud's --impersonate-service-account */
static int from_impersonated(struct at *op, const json_t *file, char **ret,
                             int64_t *lives)
{
    const json_t *source = json_object_get(file, "source_credentials");
    char *own;
    op->scope = SCOPE_IAM;
    int s = from_json(op, source, "source_credentials", false, &own, lives);
    op->scope = SCOPE;
    if (s == DAVIT_OK)
        s = gcp_impersonate(op, file, own, ret, lives);
    kit_wipe(own);
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
    char *text, what[120];
    int s = kit_file_read(path, "credentials file", &text, op->e);
    if (s != DAVIT_OK)
        return s;
    json_t *j = json_loads(text, 0, NULL);
    kit_wipe(text);
    snprintf(what, sizeof what, "credentials file %.80s", path);
    s = from_json(op, j, what, true, ret, lives);
    json_decref(j);
    return s;
}

int gcp_token_fetch(void *arg, struct davit_call *call, char **ret_value,
                    int64_t *ret_lives_ms, struct davit_error *e)
{
    struct at op = {arg, call, e, SCOPE};
    char path[1024];
    *ret_value = NULL;
    file_choose(op.g, path, sizeof path);
    return path[0] != '\0' ? from_file(&op, path, ret_value, ret_lives_ms)
                           : from_metadata(&op, ret_value, ret_lives_ms);
}
