/*
 * federation.c - workload identity federation: the token of another world,
 * from a file, a URL or a program, for one of Google's
 * (cloud.google.com/iam/docs/workload-identity-federation).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../aws/aws.h"
#include "../program.h"
#include "inside.h"

#define PROGRAM_MS 30000
#define PROGRAM_MOST_MS 120000

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
        const char *field = gcp_text_or(
            source, "format.subject_token_field_name", "access_token");
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
    int s = gcp_ask(op,
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

/* ---- a program of the user's: google-auth's pluggable.py */

/* What it says: 1 a token, 0 none that is good now, -1 an error of its own. */
static int subject_said(struct at *op, const char *text, bool stored,
                        char **ret)
{
    json_t *j = json_loads(text, 0, NULL);
    const char *type = kit_json_text(j, "token_type");
    int64_t end = kit_json_int(j, "expiration_time", stored ? 0 : INT64_MAX);
    const char *token = strcmp(type, "urn:ietf:params:oauth:token-type:"
                                     "saml2") == 0
                            ? kit_json_text(j, "saml_response")
                            : kit_json_text(j, "id_token");
    int said = 0;
    if (kit_json_true(j, "success") && *token != '\0' &&
        end > op->g->host->wall_ms() / 1000)
        said = 1;
    else if (!stored && j && !kit_json_true(j, "success"))
        said = -1;
    if (said > 0)
        *ret = kit_copy(token);
    if (said < 0)
        kit_error(op->e, DAVIT_AUTH, "credentials",
                  "the credential source's executable gives no token: %.40s "
                  "%.100s",
                  kit_json_text(j, "code"), kit_json_text(j, "message"));
    json_decref(j);
    return said;
}

static bool subject_stored(struct at *op, const char *path, char **ret)
{
    char *text;
    if (*path == '\0' ||
        kit_file_read(path, "the stored token", &text, NULL) != DAVIT_OK)
        return false;
    bool good = subject_said(op, text, true, ret) > 0;
    kit_wipe(text);
    return good;
}

/* ".../serviceAccounts/EMAIL:generateAccessToken" */
static char *email_of(const json_t *file)
{
    const char *url = kit_json_text(file, "service_account_impersonation_url");
    const char *slash = strrchr(url, '/');
    char *email = kit_copy(slash ? slash + 1 : "");
    email[strcspn(email, ":")] = '\0';
    return email;
}

static int program_run(struct at *op, const json_t *file, const json_t *how,
                       char **ret)
{
    static char *const names[] = {"GOOGLE_*", "CLOUDSDK_*", "AWS_*", "AZURE_*"};
    const struct kit_list pass = {(char **)names, sizeof names / sizeof *names};
    char *email = email_of(file);
    char *also[] = {
        kit_print("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=%s",
                  kit_json_text(file, "audience")),
        kit_print("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=%s",
                  kit_json_text(file, "subject_token_type")),
        kit_print("GOOGLE_EXTERNAL_ACCOUNT_ID=%s", email),
        kit_print("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL=%s", email),
        kit_print("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE=%s",
                  kit_json_text(how, "output_file")),
        kit_copy("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0"),
        kit_copy("GOOGLE_EXTERNAL_ACCOUNT_REVOKE=0"),
        NULL};
    int64_t limit = kit_json_int(how, "timeout_millis", PROGRAM_MS);
    int s = kit_program_run(
        op->g->host, op->call, "the credential source's executable",
        kit_json_text(how, "command"), &pass, (const char *const *)also,
        limit > 0 && limit <= PROGRAM_MOST_MS ? (uint32_t)limit : PROGRAM_MS,
        ret, op->e);
    for (size_t i = 0; also[i]; i++)
        free(also[i]);
    free(email);
    return s;
}

/* Google's libraries run it only where the environment says so, for the file
 * may be somebody else's. */
static int subject_from_program(struct at *op, const json_t *file, char **ret)
{
    const json_t *how = kit_json_at(file, "credential_source.executable");
    const char *allowed = getenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES");
    const char *path = kit_json_text(how, "output_file");
    char *text;
    if (!allowed || strcmp(allowed, "1") != 0)
        return kit_error(
            op->e, DAVIT_AUTH, "credentials",
            "the credential source is an executable: set "
            "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 to let it "
            "run");
    if (subject_stored(op, path, ret))
        return DAVIT_OK;
    int s = program_run(op, file, how, &text);
    if (s != DAVIT_OK)
        return s;
    int said = subject_said(op, text, false, ret);
    kit_wipe(text);
    if (said > 0 || (said == 0 && subject_stored(op, path, ret)))
        return DAVIT_OK;
    return said < 0 ? DAVIT_AUTH
                    : kit_error(op->e, DAVIT_AUTH, "credentials",
                                "the credential source's executable gives no "
                                "token that is good now");
}

/* ---- AWS: google-auth's aws.py */

/* scheme://host of the metadata service that the file names; NULL: none. */
static char *metadata_of(const json_t *source)
{
    const char *url = kit_json_text(source, "url");
    const char *host = strstr(url, "://");
    if (!host)
        return NULL;
    char *base = kit_copy(url);
    base[(size_t)(host + 3 - url) + strcspn(host + 3, "/")] = '\0';
    return base;
}

/* The keys are found as for AWS itself, which is more than google-auth knows: a
 * pod's role, too. */
static int subject_from_aws(struct at *op, const json_t *file, char **ret)
{
    const json_t *source = json_object_get(file, "credential_source");
    char *metadata = metadata_of(source);
    struct aws aws = {
        .session = "federation",
        .metadata = metadata ? metadata : "http://169.254.169.254"};
    struct kit_str quoted = {0};
    json_t *signed_one;
    aws_init(&aws, op->g->host);
    struct aws_op a = aws_op_begin(&aws, op->call, op->e);
    int s = aws_caller_identity(
        &a,
        gcp_text_or(source, "regional_cred_verification_url",
                    "https://sts.{region}.amazonaws.com"
                    "?Action=GetCallerIdentity&Version=2011-06-15"),
        (struct davit_kv){"x-goog-cloud-target-resource",
                          kit_json_text(file, "audience")},
        &signed_one);
    if (s == DAVIT_OK) {
        char *text = kit_must(
            json_dumps(signed_one, JSON_COMPACT | JSON_SORT_KEYS));
        kit_str_encode(&quoted, text, strlen(text), "/");
        *ret = kit_copy(quoted.p);
        kit_wipe(text);
        explicit_bzero(quoted.p, quoted.n);
    }
    json_decref(signed_one);
    kit_str_done(&quoted);
    aws_done(&aws);
    free(metadata);
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
    if (strncmp(kit_json_text(source, "environment_id"), "aws", 3) == 0)
        return subject_from_aws(op, file, ret);
    if (*kit_json_text(source, "url") != '\0')
        return subject_from_url(op, source, ret);
    if (json_object_get(source, "executable"))
        return subject_from_program(op, file, ret);
    return kit_error(op->e, DAVIT_AUTH, "credentials",
                     "credential_source must have file, url, executable or an "
                     "environment_id of aws");
}

int gcp_from_federation(struct at *op, const json_t *file, char **ret,
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
    char *sts = kit_print("https://sts.%s/v1/token", op->g->universe);
    s = gcp_ask_form(op, gcp_text_or(file, "token_url", sts), form, 6,
                     "the token exchange", &reply);
    free(sts);
    kit_wipe(subject);
    if (s != DAVIT_OK)
        return s;
    s = gcp_token_out(op, reply, ret, lives);
    if (s != DAVIT_OK || !as)
        return s;
    char *federated = *ret;
    *ret = NULL;
    s = gcp_impersonate(op, file, federated, ret, lives);
    kit_wipe(federated);
    return s;
}
