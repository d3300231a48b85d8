/*
 * process.c - credential_process of a profile: a program that prints keys
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).
 */
#include "../program.h"
#include "inside.h"

#define LIMIT_MS 60000

int process_keys(struct aws_op *op, const char *command,
                 struct credentials *ret)
{
    static char *const names[] = {"AWS_*",    "HTTP_PROXY", "HTTPS_PROXY",
                                  "NO_PROXY", "http_proxy", "https_proxy",
                                  "no_proxy"};
    const struct kit_list pass = {(char **)names, sizeof names / sizeof *names};
    char *text;
    int st = kit_program_run(op->aws->host, op->call,
                             "the profile's credential_process", command, &pass,
                             NULL, LIMIT_MS, &text, op->error);
    if (st != DAVIT_OK)
        return st;
    json_t *j = json_loads(text, 0, NULL);
    kit_wipe(text);
    if (kit_json_int(j, "Version", 0) != 1 ||
        !credentials_set(ret, kit_json_text(j, "AccessKeyId"),
                         kit_json_text(j, "SecretAccessKey"),
                         kit_json_text(j, "SessionToken"),
                         kit_json_text(j, "Expiration")))
        st = kit_error(op->error, DAVIT_AUTH, "BadProfile",
                       "what the profile's credential_process prints is not "
                       "JSON with Version 1, AccessKeyId and SecretAccessKey");
    json_decref(j);
    return st;
}
