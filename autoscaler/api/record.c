/*
 * record.c - every change, and every one that was refused, with its caller.
 *
 * What was sent to the control loop may take effect whatever its caller hears, and
 * whether he waits for it: it is recorded in any case.  Who has shown nothing that
 * proves who he is is not recorded: strangers could fill the file, and failed
 * logins are counted and logged.
 */
#include <string.h>

#include "../base/clock.h"
#include "inside.h"

#define PAGE 256u

void record_change(struct exchange *ex)
{
    char who[400];
    struct buf b;
    struct out o;

    if (ex->recorded || !ex->route || !(ex->route->flags & ROUTE_CHANGE) ||
        !ex->caller.who || ex->caller.proof == PROOF_NONE)
        return;
    ex->recorded = true;
    buf_init(&b, 8192);
    out_init(&o, &b);
    out_object(&o, NULL);
    out_str(&o, "caller", ex->caller.name);
    out_str(&o, "via", ex->caller.via);
    out_str(&o, "from", ex->caller.from);
    out_str(&o, "method", ex->route->method);
    out_str(&o, "path", ex->route->path);
    out_str(&o, "subject", *ex->arg ? ex->arg : ex->owner);
    out_uint(&o, "code", ex->code);
    out_close(&o);
    if (!b.full && b.n > 2) {
        b.s[b.n - 1] = '\0'; /* the fields alone */
        audit_add(ex->server->audit, clock_wall_ms(),
                  caller_share(&ex->caller, who, sizeof who), b.s + 1);
    }
    buf_done(&b);
}

/* It ends without a reply. */
void record_end(struct exchange *ex)
{
    if (ex->sent)
        record_change(ex);
}

void get_audit(struct exchange *ex)
{
    int64_t after = exchange_number(exchange_query(ex, "after")), next;
    struct arena a = {0};
    const char **lines;
    struct buf b;
    struct out o;
    bool missed;
    uint32_t n;

    if (after == -2) {
        exchange_error(ex, 400, "INVALID", "after",
                       "must be a whole number, the id of an entry or 0");
        return;
    }
    n = audit_read(ex->server->audit, after < 0 ? 0 : after, PAGE, &a, &lines,
                   &next, &missed);
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_array(&o, "entries");
    for (uint32_t i = 0; i < n; i++)
        out_raw(&o, NULL, lines[i]);
    out_close(&o);
    out_int(&o, "next", next);
    out_bool(&o, "missed", after >= 0 && missed);
    out_close(&o);
    arena_done(&a);
    exchange_reply(ex, 200, &b, "application/json");
}
