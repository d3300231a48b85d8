/*
 * gzip.c - see gzip.h.
 */
#include "gzip.h"

#include <stdint.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY = 8, PIECE = 16384 };

bool gzip(const char *p, size_t n, int level, struct buf *ret)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)p,
                  .avail_in = (uInt)n};
    char piece[PIECE];
    bool good;
    int rc = Z_OK;

    if (n > (uInt)-1 || deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY,
                                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    do {
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        rc = deflate(&z, Z_FINISH);
        good = buf_add(ret, piece, sizeof piece - z.avail_out);
    } while (rc == Z_OK && good);
    deflateEnd(&z);
    return rc == Z_STREAM_END && good && ret->n < n;
}
