/*
 * token.c - finds the token as Ray does, and can say where it looked.
 *
 * The token itself is never part of a message: only its source is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/exposed.h"
#include "inside.h"

#define MAX_TOKEN 16384u

void ray_token_done(struct ray_token *t)
{
    if (t->text) {
        explicit_bzero(t->text, strlen(t->text));
        free(t->text);
    }
    t->text = NULL;
}

/* Takes what is between the white space; it must be fit for a header. */
static bool take(struct ray_token *t, const char *text)
{
    while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
        text++;
    size_t n = strlen(text);
    while (n &&
           (text[n - 1] == ' ' || (text[n - 1] >= '\t' && text[n - 1] <= '\r')))
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f) {
            snprintf(t->trouble, sizeof t->trouble,
                     "what is in %s is not a token: character %zu is not "
                     "printable ASCII",
                     t->source, i + 1);
            return false;
        }
    if (!n) {
        snprintf(t->trouble, sizeof t->trouble, "%s is empty", t->source);
        return false;
    }
    t->text = mem_strndup(text, n);
    return true;
}

/* quiet: the default place, where no file simply means no token. */
static bool take_file(struct ray_token *t, const char *path, bool quiet)
{
    char buf[MAX_TOKEN + 2];
    FILE *f = fopen(path, "re");
    if (!f) {
        if (!quiet || errno != ENOENT)
            snprintf(t->trouble, sizeof t->trouble, "%.200s: %s", path,
                     strerror(errno));
        return false;
    }
    size_t n = fread(buf, 1, sizeof buf - 1, f);
    bool bad = ferror(f) != 0;
    fclose(f);
    exposed_look(path, "Ray's token", true);
    buf[n] = '\0';
    bool found = false;
    if (bad)
        snprintf(t->trouble, sizeof t->trouble, "%.200s cannot be read", path);
    else if (n > MAX_TOKEN || strlen(buf) != n)
        snprintf(t->trouble, sizeof t->trouble,
                 "%.200s is not a token: it is binary or over %u bytes", path,
                 MAX_TOKEN);
    else
        found = take(t, buf);
    explicit_bzero(buf, sizeof buf);
    return found;
}

void ray_token_read(struct ray_token *t, const char *token_file)
{
    ray_token_done(t);
    t->source[0] = t->trouble[0] = '\0';
    const char *value = getenv("RAY_AUTH_TOKEN");
    const char *path = getenv("RAY_AUTH_TOKEN_PATH");
    const char *home = getenv("HOME");
    bool found = false;
    if (token_file && token_file[0]) {
        snprintf(t->source, sizeof t->source, "the file %.200s", token_file);
        found = take_file(t, token_file, false);
    } else if (value && value[0]) {
        snprintf(t->source, sizeof t->source, "RAY_AUTH_TOKEN");
        found = take(t, value);
    } else if (path && path[0]) {
        snprintf(t->source, sizeof t->source,
                 "the file %.200s (RAY_AUTH_TOKEN_PATH)", path);
        found = take_file(t, path, false);
    } else if (home && home[0]) {
        char file[4096];
        snprintf(file, sizeof file, "%s/.ray/auth_token", home);
        snprintf(t->source, sizeof t->source, "the file %.200s", file);
        found = take_file(t, file, true);
    }
    if (!found)
        t->text = mem_strdup("");
}
