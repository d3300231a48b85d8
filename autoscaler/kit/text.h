/*
 * text.h - texts and times as plug-ins need them: files, percent encoding,
 * RFC 3339, HTTP dates.
 *
 * Times are milliseconds since 1970.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_TEXT_H
#define KIT_TEXT_H

#include "alloc.h"
#include "options.h"

#define KIT_FILE_MAX ((size_t)1 << 20)
/* A whole file as text, for kit_wipe(), without blanks and line ends behind it.
 * AUTH when it cannot be read, is empty, has a NUL or more than KIT_FILE_MAX
 * bytes; the text of the error names `what` and the path. */
int kit_file_read(const char *path, const char *what, char **ret,
                  struct davit_error *e);

/* All of it; false, with errno, when that cannot be. */
bool kit_write_all(int fd, const char *text, size_t n);

/* Percent-encoded as RFC 3986 has it, all but letters, digits and "-_.~"; for
 * free(). */
char *kit_encode(const char *text);
/* Appends text, encoded, to a string of this size; false: it does not fit, and
 * the string is as it was. */
bool kit_url_append(char *url, size_t size, const char *text);
/* %XX back to bytes, in place; what is no such thing stays as it is. */
void kit_decode(char *text);
/* "name=value&..." of n pairs, encoded; for kit_wipe(). */
char *kit_form(const struct davit_kv *kv, size_t n);

/* "2030-01-01T00:00:00.5Z" or with an offset; -1: it is no such time. */
int64_t kit_time_ms(const char *rfc3339);
#define KIT_TIME_SIZE 24
/* "2030-01-01T00:00:00Z" */
void kit_time_text(int64_t ms, char ret[KIT_TIME_SIZE]);
/* "Tue, 01 Jan 2030 00:00:00 GMT", of HTTP's Date and Retry-After; -1: it is no
 * such time. */
int64_t kit_date_ms(const char *text);

#endif
