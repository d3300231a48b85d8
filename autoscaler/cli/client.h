/*
 * client.h - the commands' way to the daemon: its REST API, and nothing else.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>

#include "../base/arena.h"
#include "../wire/http.h"
#include "cli.h"

/* Where the daemon is: --url, $DAVIT_URL, http://127.0.0.1:8790; --token-file,
 * $DAVIT_TOKEN_FILE, $DAVIT_TOKEN; --ca, $DAVIT_CA; --cert and --key,
 * $DAVIT_CERT and $DAVIT_KEY. */
struct client {
    const char *url; /* or "unix:PATH", the daemon's api.socket */
    const char *token, *ca, *cert, *key;
    int64_t timeout_ms; /* of a call; a minute, unless set */
    bool json;          /* --json: the reply as it came */
    struct http_client *http;
    struct arena arena; /* of the last exchange */
};

/* For .common of a command that talks to the daemon: the parser fills in what
 * client_open() takes. */
extern const struct cli_option client_options[];

/* False after a message when the token's file cannot be read. */
bool client_open(struct client *c);
void client_done(struct client *c);

/* One exchange; body may be NULL, *ret is a new reference.  Returns EXIT_OK, or
 * the exit code after a message was printed, and *ret is NULL then.  Of the
 * statuses 400 and above, 400 and 413 give EXIT_INPUT, 404 gives EXIT_NO, others
 * give EXIT_REFUSED. */
int client_call(struct client *c, const char *method, const char *path,
                const json_t *body, json_t **ret);

/* Fields of a reply or a plan; missing or null ones give "" and 0. */
const char *text_of(const json_t *o, const char *key);
double number_of(const json_t *o, const char *key);
int64_t count_of(const json_t *o, const char *key);
bool flag_of(const json_t *o, const char *key);

#endif
