/*
 * log.c - see log.h.  The two settings are written once, before threads start.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

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
    size_t n = 0;

    for (; *s && n + 8 < cap; s++) {
        unsigned char c = (unsigned char)*s;
        if (log_json && (c == '"' || c == '\\')) {
            out[n++] = '\\';
            out[n++] = (char)c;
        } else if (c < 0x20 || c == 0x7f) {
            n += (size_t)snprintf(out + n, cap - n,
                                  log_json ? "\\u%04x" : "\\x%02x", c);
        } else {
            out[n++] = (char)c;
        }
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
