/*
 * cmd_token.c - makes, lists and takes back tokens: lines of the file of
 * api.tokens.  The token itself is printed once and kept nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../api/door/access.h"
#include "../api/door/secret.h"
#include "../base/clock.h"
#include "../base/outfile.h"
#include "../base/random.h"
#include "cli.h"

enum { TEXT_MAX = 4 << 20, RANDOM = 32 };

static struct {
    const char *file, *name;
    struct cli_list rights;
} args;

/* ---- the file */

/* A file that is not there is empty. */
static bool text_read(const char *path, struct buf *ret)
{
    struct err err;

    if (access(path, F_OK) != 0 && errno == ENOENT) {
        buf_init(ret, TEXT_MAX);
        return true;
    }
    if (secret_read(path, "token", true, TEXT_MAX, ret, &err) == ST_OK)
        return true;
    fprintf(stderr, "davit: %s\n", err.text);
    return false;
}

/* Replaced at once, or not at all: its daemon must be able to read the new one. */
static bool text_write(const char *path, const struct buf *text)
{
    struct err err;

    if (outfile_replace(path, text->s, text->n, &err) == ST_OK)
        return true;
    fprintf(stderr, "davit: %s\n", err.text);
    return false;
}

/* From before it is read until it is written: two at once keep both changes. */
static int locked(int (*change)(void))
{
    struct err err;
    int fd = outfile_lock(args.file, &err), rc;

    if (fd < 0) {
        fprintf(stderr, "davit: %s\n", err.text);
        return EXIT_INPUT;
    }
    rc = change();
    close(fd);
    return rc;
}

static bool valid(const char *path, const struct buf *text, struct arena *a,
                  struct access_list *list)
{
    struct err err;

    if (access_parse(a, path, text->s, list, &err) == ST_OK)
        return true;
    fprintf(stderr, "davit: %s\n", err.text);
    return false;
}

/* ---- the words */

/* 256 random bits as "davit_" and 43 letters, digits, "-" and "_". */
static void token_make(char ret[64])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char r[RANDOM];
    unsigned bits = 0, held = 0;
    char *p = ret + sprintf(ret, "davit_");

    random_bytes(r, sizeof r);
    for (int i = 0; i < RANDOM; i++) {
        held = held << 8 | r[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *p++ = letters[held >> (bits - 6) & 63];
    }
    *p++ = letters[held << (6 - bits) & 63];
    *p = '\0';
    OPENSSL_cleanse(r, sizeof r);
}

static int token_new(void)
{
    const char *path = args.file;
    struct access_list list = {0};
    unsigned char digest[32];
    struct arena a = {0};
    struct buf text;
    char token[64];
    int rc = EXIT_INPUT;

    if (!text_read(path, &text))
        return EXIT_INPUT;
    token_make(token);
    SHA256((const unsigned char *)token, strlen(token), digest);
    if (text.n && text.s[text.n - 1] != '\n')
        buf_str(&text, "\n");
    buf_printf(&text, "%s sha256:", args.name);
    for (size_t i = 0; i < sizeof digest; i++)
        buf_printf(&text, "%02x", digest[i]);
    for (uint32_t i = 0; i < args.rights.n; i++)
        buf_printf(&text, " %s", args.rights.v[i]);
    buf_str(&text, "\n");
    if (!text.full && valid(path, &text, &a, &list) &&
        text_write(path, &text)) {
        printf("%s\n", token);
        rc = EXIT_OK;
    }
    OPENSSL_cleanse(token, sizeof token);
    buf_done(&text);
    arena_done(&a);
    return rc;
}

static const char *credential(const struct principal *p, struct arena *a)
{
    if (p->kind == ACCESS_USER)
        return arena_printf(a, "user:%u", (unsigned)p->uid);
    for (unsigned k = 0; p->kind == ACCESS_CERT && k < CERT_KINDS; k++)
        if (p->cert_kinds == 1u << k)
            return arena_printf(a, "cert:%s:%s", cert_kinds[k], p->cert);
    if (p->kind == ACCESS_CERT)
        return arena_printf(a, "cert:%s", p->cert);
    return arena_printf(a, "sha256:%02x%02x%02x%02x...", p->digest[0],
                        p->digest[1], p->digest[2], p->digest[3]);
}

static const char *until(const struct principal *p, struct arena *a)
{
    char day[32];

    if (!p->until_ms)
        return "";
    clock_iso(p->until_ms, day, sizeof day);
    return arena_printf(
        a, "%s%.10s", p->until_ms < clock_wall_ms() ? "over since " : "until ",
        day);
}

static int token_list(const char *path)
{
    struct access_list list = {0};
    struct arena a = {0};
    struct err err;

    if (access_read(path, &a, &list, &err) != ST_OK) {
        fprintf(stderr, "davit: %s\n", err.text);
        arena_done(&a);
        return EXIT_INPUT;
    }
    for (uint32_t i = 0; i < list.n; i++)
        printf("%-20s %-20s %s  %s\n", list.v[i].name,
               credential(&list.v[i], &a), principal_rights(&list.v[i], &a),
               until(&list.v[i], &a));
    arena_done(&a);
    return EXIT_OK;
}

/* All but the line that begins with the name; other lines stay as they are. */
static int token_revoke(void)
{
    const char *path = args.file, *name = args.name;
    struct access_list list = {0};
    struct buf text, rest;
    struct arena a = {0};
    bool found = false;
    int rc = EXIT_INPUT;

    if (!text_read(path, &text))
        return EXIT_INPUT;
    buf_init(&rest, TEXT_MAX);
    for (const char *p = text.s; *p;) {
        size_t n = strcspn(p, "\n") + (strchr(p, '\n') != NULL);
        const char *word = p + strspn(p, " \t");

        if (strncmp(word, name, strlen(name)) == 0 &&
            strchr(" \t", word[strlen(name)]) && word[strlen(name)])
            found = true;
        else
            buf_add(&rest, p, n);
        p += n;
    }
    if (!found) {
        fprintf(stderr, "davit: %s has no \"%s\"\n", path, name);
        rc = EXIT_NO;
    } else if (valid(path, &rest, &a, &list) && text_write(path, &rest)) {
        rc = EXIT_OK;
    }
    buf_done(&text);
    buf_done(&rest);
    arena_done(&a);
    return rc;
}

static const char *file(const struct cli_command *c)
{
    if (!args.file)
        cli_usage(c, "name the file of api.tokens with --file or "
                     "$DAVIT_TOKENS");
    return args.file;
}

/* ---- the commands */

static const struct cli_option options[] = {
    {"file", .text = &args.file, .takes = TAKES_FILE, .env = "DAVIT_TOKENS",
     .help = "the file of api.tokens (default $DAVIT_TOKENS)"},
    {0}};

static const struct cli_command cli_token_new, cli_token_list, cli_token_revoke;

static int new_run(void)
{
    return file(&cli_token_new) ? locked(token_new) : EXIT_USAGE;
}

static const struct cli_option new_words[] = {
    {"NAME", .text = &args.name, .help = "who has it"},
    {"RIGHT", .many = &args.rights,
     .help =
         "read; request:OWNERS, with queues:QUEUES if only those, and "
         "priority:MOST; admin; until:DAY ends them. OWNERS and QUEUES are lists such as "
         "ci-*,eval-*"},
    {0}};

static const struct cli_command cli_token_new = {
    .name = "token new",
    .help = "adds a line with the token's hash and prints the token, once",
    .options = options,
    .words = new_words,
    .run = new_run,
    .examples = (const struct cli_example[]){
        {"davit token new ci read 'request:ci-*' --file tokens",
         "may look, and request for owners that begin with ci-"},
        {0}}};

static int list_run(void)
{
    return file(&cli_token_list) ? token_list(args.file) : EXIT_USAGE;
}

static const struct cli_command cli_token_list = {
    .name = "token list",
    .help = "names, rights and ends; of a folder all of its files",
    .options = options,
    .run = list_run};

static int revoke_run(void)
{
    return file(&cli_token_revoke) ? locked(token_revoke) : EXIT_USAGE;
}

static const struct cli_option revoke_words[] = {
    {"NAME", .text = &args.name, .help = "whose token it is"}, {0}};

static const struct cli_command cli_token_revoke = {
    .name = "token revoke",
    .help = "takes the line away; a running daemon sees it within two seconds",
    .options = options,
    .words = revoke_words,
    .run = revoke_run};

const struct cli_command cli_token = {
    .name = "token",
    .help = "makes, lists and takes back tokens of the API",
    .subs = (const struct cli_command *const[]){&cli_token_new, &cli_token_list,
                                                &cli_token_revoke, NULL}};
