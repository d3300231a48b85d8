/*
 * err.c - see err.h.
 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status err_set(struct err *e, enum status s, const char *fmt, ...)
{
    char text[sizeof e->text]; /* what is told may be of *e itself */
    va_list ap;

    if (!e)
        return s;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *e = (struct err){.status = s};
    memcpy(e->text, text, strlen(text) + 1);
    return s;
}

enum status err_prefix(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->text];
    va_list ap;
    int n;

    if (!e)
        return ST_RETRY;
    memcpy(old, e->text, sizeof old);
    va_start(ap, fmt);
    n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n + 3 < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %.*s",
                 (int)(sizeof e->text - (size_t)n - 3), old);
    return e->status;
}

const char *status_name(enum status s)
{
#define NAME_(name, value, text) [ST_##name] = #name,
    static const char *const names[] = {DAVIT_STATUS_MAP(NAME_)};
#undef NAME_
    return (unsigned)s < ST_COUNT ? names[s] : "UNKNOWN";
}
