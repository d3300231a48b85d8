/*
 * doctor_api.c - what davit doctor says of the API: who may call it, and whether
 * its secrets are secret.
 */
#include <string.h>

#include "../../api/door/access.h"
#include "../../api/door/secret.h"
#include "doctor.h"

static void secret_look(struct checkup *c, const char *path, const char *key)
{
    struct buf text;
    struct err err;

    if (!*path)
        return;
    if (secret_read(path, key, true, (size_t)1 << 20, &text, &err) != ST_OK) {
        finding_add(c, FINDING_BAD, "api", "%s", err.text);
        return;
    }
    secret_done(&text);
    finding_add(c, FINDING_OK, "api", "%s: %s is for us alone", key, path);
}

static void tokens_look(struct checkup *c)
{
    struct access_list list = {0};
    struct arena a = {0};
    uint32_t admins = 0;
    struct err err;

    if (!*c->conf->api_tokens)
        return;
    if (access_read(c->conf->api_tokens, &a, &list, &err) != ST_OK) {
        finding_add(c, FINDING_BAD, "api", "%s", err.text);
    } else {
        for (uint32_t i = 0; i < list.n; i++)
            admins += list.v[i].admin;
        finding_add(c, FINDING_OK, "api",
                    "api.tokens: %u callers, %u of them administrators", list.n,
                    admins);
    }
    arena_done(&a);
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

void doctor_api(struct checkup *c)
{
    const struct config *conf = c->conf;
    bool known = *conf->api_tokens || *conf->api_token_file ||
                 *conf->api_client_ca || conf->api_kube;

    tokens_look(c);
    secret_look(c, conf->api_token_file, "api.token_file");
    secret_look(c, conf->api_tls_key, "api.tls.key");
    if (!*conf->api_host || is_loopback(conf->api_host))
        return;
    if (!known)
        finding_add(c, FINDING_WARN, "api",
                    "everybody who reaches %s may order machines: set "
                    "api.tokens, or client_ca under api.tls",
                    conf->api_host);
    if (!*conf->api_tls_cert)
        finding_add(c, FINDING_WARN, "api",
                    "tokens to %s can be read on their way: set api.tls",
                    conf->api_host);
}
