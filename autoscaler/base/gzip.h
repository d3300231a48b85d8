/*
 * gzip.h - bytes made smaller, as RFC 1952 has it.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "buf.h"

/* Adds n bytes at p, compressed, to ret.  level: 1 fast to 9 small.  False when
 * they do not become smaller or do not fit: ret is to be dropped. */
bool gzip(const char *p, size_t n, int level, struct buf *ret);

#endif
