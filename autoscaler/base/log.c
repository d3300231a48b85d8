/*
 * log.c - see log.h.  The two settings are written once, before threads start.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

static enum log_level log_max = LOG_INFO;
static bool log_json;

void log_setup(enum log_level max, bool json)
{
    log_max = max;
    log_json = json;
}

/* A message may hold anything: one line stays one line. */
static size_t put_text(char *out, size_t cap, const char *s)
{
    size_t n = 0, left = strlen(s);

    while (left && n + 16 < cap) {
        size_t len = text_plain(s, left);

        if (log_json && (*s == '"' || *s == '\\'))
            out[n++] = '\\';
        if (len) {
            memcpy(out + n, s, len);
            n += len;
        } else {
            char shown[8];

            len = text_escape(s, left, shown);
            n += (size_t)snprintf(out + n, cap - n, "%s", shown);
        }
        s += len;
        left -= len;
    }
    out[n] = '\0';
    return n;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char text[2048], safe[4096], line[4352], when[32];
    va_list ap;
    int n;

    if (level > log_max)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_text(safe, sizeof safe, text);
    n = snprintf(
        line, sizeof line,
        log_json ? "{\"time\":\"%s\",\"level\":\"%s\",\"text\":\"%s\"}\n"
                 : "%s %-5s %s\n",
        clock_iso(clock_wall_ms(), when, sizeof when), names[level], safe);
    if (n > 0 && write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* nobody is left to tell */
}
