/*
 * request.c - one request to Google, with a token.
 *
 * Nothing is repeated here: every call of a plug-in may be, by the daemon.
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../str.h"
#include "gcp.h"

/* As Google's libraries find it: an emulator or a sidecar may stand in. */
static char *metadata_url(struct kit_keep *keep)
{
    const char *host = getenv("GCE_METADATA_HOST");
    if (!host || host[0] == '\0')
        host = getenv("GCE_METADATA_ROOT");
    if (!host || host[0] == '\0')
        host = "metadata.google.internal";
    return kit_keep_print(keep, "http://%.250s", host);
}

void gcp_init(struct gcp *g, const struct davit_host *host,
              struct kit_keep *keep)
{
    g->host = host;
    g->metadata_url = metadata_url(keep);
    kit_token_init(&g->token);
}

void gcp_universe_url(const struct gcp *g, struct kit_keep *keep,
                      const char *service, char **url)
{
    char *own = kit_print("https://%s." GCP_UNIVERSE_USUAL, service);
    if (strcmp(*url, own) == 0)
        *url = kit_keep_print(keep, "https://%s.%s", service, g->universe);
    free(own);
}

void gcp_done(struct gcp *g)
{
    kit_token_done(&g->token);
}

int gcp_send(struct gcp *g, struct davit_call *call,
             const struct gcp_request *r, json_t **ret, struct davit_error *e)
{
    const struct kit_api api = {.host = g->host,
                                .token = &g->token,
                                .fetch = gcp_token_fetch,
                                .arg = g,
                                .judge = gcp_error_http,
                                .base = r->base};
    struct davit_http x;
    int s = kit_exchange(
        &api, call,
        &(struct kit_request){
            .method = r->method, .url = r->path, .json = r->body},
        &x, ret, e);
    if (s != DAVIT_OK) {
        json_decref(*ret);
        *ret = NULL;
    }
    return s;
}

void gcp_request_id(char ret[37], const void *data, size_t n)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256(data, n, d);
    d[6] = (unsigned char)((d[6] & 15) | 0x80); /* version 8: our own */
    d[8] = (unsigned char)((d[8] & 63) | 0x80);
    char *o = ret;
    for (int i = 0; i < 16; i++)
        o += sprintf(o, "%s%02x",
                     i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", d[i]);
}
