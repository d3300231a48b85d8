/*
 * metrics_server.c - what the server knows of itself and its clients.
 */
#include <inttypes.h>

#include "../../base/clock.h"
#include "../../base/log.h"
#include "../inside.h"

static void put(struct buf *b, const char *name, const char *type,
                const char *help, uint64_t v)
{
    buf_printf(b,
               "# HELP davit_%s %s\n# TYPE davit_%s %s\ndavit_%s %" PRIu64 "\n",
               name, help, name, type, name, v);
}

void server_metrics(struct server *s, bool broken, struct buf *b)
{
    static const char *const names[6] = {"", "1xx", "2xx", "3xx", "4xx", "5xx"};
    int64_t writing = atomic_load(&s->metrics->commit_ms);

    buf_str(b, "# HELP davit_http_replies_total Replies of this API\n"
               "# TYPE davit_http_replies_total counter\n");
    for (int i = 2; i < 6; i++)
        buf_printf(b, "davit_http_replies_total{code=\"%s\"} %llu\n", names[i],
                   (unsigned long long)atomic_load(&s->replies[i]));
    buf_printf(b,
               "# HELP davit_http_ended_total Connections ended because their "
               "time was over, or for others\n"
               "# TYPE davit_http_ended_total counter\n"
               "davit_http_ended_total{why=\"late\"} %" PRIu64 "\n"
               "davit_http_ended_total{why=\"crowded\"} %" PRIu64 "\n",
               door_late(s->door), door_evicted(s->door));
    put(b, "http_held_bytes", "gauge", "Of bodies and replies on their way",
        door_bytes(s->door));
    put(b, "logins_failed_total", "counter", "Wrong tokens",
        logins_failed(s->door));
    put(b, "logins_throttled_total", "counter",
        "Tokens that were not looked at: too many wrong ones of that client",
        logins_throttled(s->door));
    put(b, "journal_write_seconds", "gauge",
        "How long the journal's disk has taken for the write that is under way",
        writing ? (uint64_t)(clock_mono_ms() - writing) / 1000 : 0);
    put(b, "log_lines_dropped_total", "counter",
        "Lines of the log that standard error did not take in time",
        log_state().dropped);
    put(b, "audit_lines_dropped_total", "counter",
        "Entries of api.audit that its file did not take in time",
        audit_dropped(s->audit));
    put(b, "server_problems", "gauge",
        "Files of api: whose newest state is not in force", broken);
}
