/*
 * client.c - see client.h.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../codec/codec.h"

enum { TIMEOUT_MS = 60000 };

static bool token_read(struct client *c, const char *path)
{
    struct err err;
    char *text;
    size_t n;

    if (cli_read(path, &c->arena, &text, &n, &err) != ST_OK) {
        fprintf(stderr, "davit: token file %s\n", err.text);
        return false;
    }
    text[strcspn(text, "\r\n")] = '\0';
    c->token = mem_strdup(text);
    return true;
}

static struct {
    const char *url, *token_file, *ca, *cert, *key;
    bool json;
} args = {.url = "http://127.0.0.1:8790"};

const struct cli_option client_options[] = {
    {"url", .value = "URL", .text = &args.url, .env = "DAVIT_URL",
     .help = "the daemon (default $DAVIT_URL, then http://127.0.0.1:8790); "
             "unix:PATH is its api.socket"},
    {"token-file", .text = &args.token_file, .takes = TAKES_FILE,
     .env = "DAVIT_TOKEN_FILE",
     .help = "its token (default $DAVIT_TOKEN_FILE, then the token itself in "
             "$DAVIT_TOKEN)"},
    {"ca", .text = &args.ca, .takes = TAKES_FILE, .env = "DAVIT_CA",
     .help = "the certificate to trust (default $DAVIT_CA)"},
    {"cert", .text = &args.cert, .takes = TAKES_FILE, .env = "DAVIT_CERT",
     .help = "our certificate (default $DAVIT_CERT)"},
    {"key", .text = &args.key, .takes = TAKES_FILE, .env = "DAVIT_KEY",
     .help = "its key (default $DAVIT_KEY)"},
    {"json", 'j', .flag = &args.json,
     .help = "the daemon's own answer, for programs"},
    {0}};

bool client_open(struct client *c)
{
    const char *token = getenv("DAVIT_TOKEN");

    *c = (struct client){.timeout_ms = TIMEOUT_MS,
                         .url = args.url,
                         .ca = args.ca,
                         .cert = args.cert,
                         .key = args.key,
                         .json = args.json};
    if (args.token_file) {
        if (!token_read(c, args.token_file))
            return false;
    } else if (token && *token) {
        c->token = mem_strdup(token);
    }
    c->http = http_client_new();
    return true;
}

void client_done(struct client *c)
{
    http_client_free(c->http);
    free((void *)c->token);
    arena_done(&c->arena);
}

static int error_report(const struct http_exchange *x, const json_t *reply)
{
    const json_t *e = json_object_get(reply, "error");
    const char *where = text_of(e, "where"), *text = text_of(e, "text");

    if (*text)
        fprintf(stderr, "davit: %s%s%s\n", where, *where ? ": " : "", text);
    else
        fprintf(stderr, "davit: the daemon answered %d\n", x->status);
    if (x->status == 401)
        fprintf(stderr,
                "davit: give its token with --token-file or $DAVIT_TOKEN\n");
    return x->status == 404                       ? EXIT_NO
           : x->status == 400 || x->status == 413 ? EXIT_INPUT
                                                  : EXIT_REFUSED;
}

int client_call(struct client *c, const char *method, const char *path,
                const json_t *body, json_t **ret)
{
    struct davit_kv headers[2];
    struct http_exchange x = {
        .method = method,
        .headers = headers,
        .ca_file = c->ca,
        .label = "the daemon",
        .plain_token = true,
        .deadline_mono_ms = clock_mono_ms() + c->timeout_ms};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct err err;
    int rc = EXIT_OK;

    *ret = NULL;
    arena_reset(&c->arena);
    if (strncmp(c->url, "unix:", 5) == 0) {
        x.unix_socket = c->url + 5;
        x.url = arena_printf(&c->arena, "http://localhost%s", path);
    } else {
        x.url = arena_printf(&c->arena, "%s%s", c->url, path);
    }
    x.cert_file = c->cert;
    x.key_file = c->key;
    headers[x.n_headers++] = (struct davit_kv){"Content-Type",
                                               "application/json"};
    if (c->token)
        headers[x.n_headers++] = (struct davit_kv){
            "Authorization", arena_printf(&c->arena, "Bearer %s", c->token)};
    x.body = text;
    x.body_len = text ? strlen(text) : 0;
    if (http_do(c->http, &x, &c->arena, &err) != ST_OK) {
        fprintf(
            stderr,
            "davit: no daemon at %s (%s)\n"
            "davit: start one with `davit run`, or name another with --url or "
            "$DAVIT_URL\n",
            c->url, err.text);
        free(text);
        return EXIT_NO_DAEMON;
    }
    free(text);
    if (codec_parse(x.reply, x.reply_len, ret, &err) != ST_OK)
        *ret = NULL;
    if (x.status >= 400) {
        rc = error_report(&x, *ret);
        json_decref(*ret);
        *ret = NULL;
    } else if (!*ret) {
        fprintf(stderr, "davit: %s answers, but not as a davit daemon\n",
                c->url);
        rc = EXIT_REFUSED;
    }
    return rc;
}

const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

int64_t count_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

bool flag_of(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}
