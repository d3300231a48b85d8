/*
 * read.c - what commands read and write alike: a file or standard input, a
 * configuration, JSON for programs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
#include "../config/config.h"
#include "cli.h"

enum { FILE_MAX = 256 << 20 };

enum status cli_read(const char *path, struct arena *a, char **ret, size_t *n,
                     struct err *err)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char chunk[65536];
    enum status s = ST_OK;
    struct buf b;
    size_t got;

    if (!f)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    buf_init(&b, FILE_MAX);
    while ((got = fread(chunk, 1, sizeof chunk, f)) > 0 && !b.full)
        buf_add(&b, chunk, got);
    if (ferror(f))
        s = err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    else if (b.full)
        s = err_set(err, ST_INVALID, "%s: larger than %d MiB", path,
                    FILE_MAX >> 20);
    else {
        *ret = arena_strndup(a, b.s, b.n);
        *n = b.n;
    }
    buf_done(&b);
    if (f != stdin)
        fclose(f);
    return s;
}

struct config *cli_config(const char *path)
{
    struct config *conf;
    struct buf errors;

    buf_init(&errors, 1 << 20);
    if (config_load(path, &conf, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        conf = NULL;
    }
    buf_done(&errors);
    return conf;
}

void cli_json(const json_t *v)
{
    json_dumpf(v, stdout, JSON_INDENT(2));
    putchar('\n');
}
