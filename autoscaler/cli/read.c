/*
 * read.c - a file or standard input into memory, with a ceiling.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
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
