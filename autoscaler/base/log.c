/*
 * log.c - see log.h.  The settings are written once, before threads start.
 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

static enum log_level log_max = LOG_INFO;
static bool log_json;
static struct outbox *box; /* NULL: lines are written at once */
static bool by_thread;     /* it stays until the process ends */
static atomic_ullong told; /* of lines that were dropped */
enum { WAITING_MOST = 1 << 20 };

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

/* ---- a line */

enum { LINE_MAX_ = 4352 };

static size_t line_make(char line[LINE_MAX_], enum log_level level,
                        const char *text)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char safe[4096], when[32];
    int n;

    put_text(safe, sizeof safe, text);
    n = snprintf(
        line, LINE_MAX_,
        log_json ? "{\"time\":\"%s\",\"level\":\"%s\",\"text\":\"%s\"}\n"
                 : "%s %-5s %s\n",
        clock_iso(clock_wall_ms(), when, sizeof when), names[level], safe);
    return n > 0 ? strlen(line) : 0;
}

static void line_write(const char *line, size_t n)
{
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* nobody is left to tell */
}

/* In their place it says how many lines are not there. */
static void dropped_tell(void)
{
    unsigned long long dropped = outbox_state(box).dropped;
    unsigned long long before = atomic_exchange(&told, dropped);
    char text[128], line[LINE_MAX_];

    if (dropped == before)
        return;
    snprintf(text, sizeof text,
             "%llu lines of this log were dropped: nobody took them in time",
             dropped - before);
    if (!outbox_add(box, line, line_make(line, LOG_WARN, text)))
        atomic_fetch_sub(&told, dropped - before); /* when there is room */
}

void log_line(enum log_level level, const char *fmt, ...)
{
    char text[2048], line[LINE_MAX_];
    va_list ap;
    size_t n;

    if (level > log_max)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    n = line_make(line, level, text);
    if (!box) {
        line_write(line, n);
        return;
    }
    dropped_tell();
    outbox_add(box, line, n);
}

/* ---- by a thread */

static void line_put(void *arg, const char *line, size_t n)
{
    (void)arg;
    line_write(line, n);
}

void log_start(const struct outbox_ops *ops)
{
    static const struct outbox_ops threaded = {.put = line_put};

    by_thread = !ops;
    box = outbox_new(WAITING_MOST, ops ? ops : &threaded);
    atomic_store(&told, 0);
}

void log_stop(int64_t wait_ms)
{
    if (box && by_thread)
        outbox_wait(box, wait_ms); /* other threads may log still */
    else if (box && outbox_free(box, wait_ms))
        box = NULL; /* else the rest is dropped, too */
}

struct outbox_state log_state(void)
{
    return box ? outbox_state(box) : (struct outbox_state){0};
}

bool log_turn(void)
{
    return box && outbox_turn(box);
}
