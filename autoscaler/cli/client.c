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

bool client_open(struct client *c, int *argc, char **argv)
{
    const char *token_file = getenv("DAVIT_TOKEN_FILE"), *env;
    int kept = 1;

    *c = (struct client){.url = getenv("DAVIT_URL"), .ca = getenv("DAVIT_CA")};
    for (int i = 1; i < *argc; i++) {
        const char **to = NULL;
        if (strcmp(argv[i], "--json") == 0) {
            c->json = true;
            continue;
        }
        if (strcmp(argv[i], "--url") == 0)
            to = &c->url;
        else if (strcmp(argv[i], "--token-file") == 0)
            to = &token_file;
        else if (strcmp(argv[i], "--ca") == 0)
            to = &c->ca;
        if (!to) {
            argv[kept++] = argv[i];
            continue;
        }
        if (++i == *argc) {
            fprintf(stderr, "davit: %s needs a value\n", argv[i - 1]);
            return false;
        }
        *to = argv[i];
    }
    argv[kept] = NULL;
    *argc = kept;
    if (!c->url || !*c->url)
        c->url = "http://127.0.0.1:8790";
    if (token_file && *token_file) {
        if (!token_read(c, token_file))
            return false;
    } else if ((env = getenv("DAVIT_TOKEN")) && *env) {
        c->token = mem_strdup(env);
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
    struct http_exchange x = {.method = method,
                              .headers = headers,
                              .ca_file = c->ca,
                              .label = "the daemon",
                              .plain_token = true,
                              .deadline_mono_ms = clock_mono_ms() + TIMEOUT_MS};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct err err;
    int rc = EXIT_OK;

    *ret = NULL;
    arena_reset(&c->arena);
    x.url = arena_printf(&c->arena, "%s%s", c->url, path);
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
