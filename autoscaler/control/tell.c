/*
 * tell.c - what happened, told once: to the log, to listeners, to the journal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "state.h"

static enum log_level level_of(const char *kind)
{
    static const char *const bad[] = {"launch.failed", "node.failed",
                                      "node.lost", "type.differs", "head.down", "head.v1", "provider.simulated",
                                      "provider.down", "config.refused",
                                      "demand.infeasible"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strcmp(kind, bad[i]) == 0)
            return LOG_WARN;
    return LOG_INFO;
}

void tell(struct control *c, const char *kind, const char *subject,
          const char *reason, const char *fmt, ...)
{
    struct journal_event row = {.kind = kind, .subject = subject,
                                .reason = reason, .data = ""};
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_line(level_of(kind), "%s %s: %s%s%s%s", kind, subject, text,
             *reason ? " [" : "", reason, *reason ? "]" : "");
    row.at_ms = clock_wall_ms();
    row.text = text;
    row.id = event_add(&c->events, row.at_ms, kind, subject, reason, text);
    kube_words_told(c, kind, subject, reason, text);
    if (c->journal)
        journal_put_event(c->journal, &row, NULL);
}
