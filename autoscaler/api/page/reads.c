/*
 * reads.c - GET /v1/overview, /v1/history, /v1/spent and /v1/decisions.
 */
#include <string.h>

#include "../../control/report/decisions.h"
#include "../../model/bill.h"
#include "../inside.h"
#include "overview.h"

static bool write_overview(struct out *o, struct view *v, struct exchange *ex)
{
    overview_write(o, v, ex->server->history);
    return true;
}

void get_overview(struct exchange *ex)
{
    ex->by_tick = true;
    reply_cached(ex, ex->server->overview, write_overview);
}

/* ---- history */

static void slot_write(struct out *o, const struct history_slot *x)
{
    out_object(o, NULL);
    out_time(o, "at", x->at_s * 1000);
    out_seconds(o, "seen_s", x->seen_ms);
    out_micros(o, "spent", x->spent);
    out_micros_or_null(
        o, "cost_per_hour",
        x->seen_ms > 0 ? (int64_t)((__int128)x->spent * 3600000 / x->seen_ms)
                       : -1);
    out_uint(o, "nodes", x->nodes);
    out_uint(o, "waiting", x->waiting);
    out_uint(o, "launched", x->launched);
    out_uint(o, "ended", x->ended);
    out_close(o);
}

/* A query's number; false: the refusal is written. */
static bool number(struct exchange *ex, const char *name, int64_t otherwise,
                   int64_t *ret)
{
    *ret = exchange_number(exchange_query(ex, name));
    if (*ret == -1)
        *ret = otherwise;
    if (*ret >= 0)
        return true;
    exchange_error(ex, 400, "INVALID", name, "must be a whole number");
    return false;
}

void get_history(struct exchange *ex)
{
    struct arena arena = {0};
    struct history_slot *v;
    int64_t step, after;
    struct buf b;
    struct out o;
    uint32_t n;

    if (!number(ex, "step", 60, &step) || !number(ex, "after", 0, &after))
        return;
    if (step != 60 && step != 300 && step != 3600) {
        exchange_error(ex, 400, "INVALID", "step",
                       "must be 60, 300 or 3600 (seconds)");
        return;
    }
    n = history_read(ex->server->history, (uint32_t)step, after, &arena, &v);
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_int(&o, "step_s", step);
    out_array(&o, "slots");
    for (uint32_t i = 0; i < n; i++)
        slot_write(&o, &v[i]);
    out_close(&o);
    out_close(&o);
    arena_done(&arena);
    exchange_reply(ex, 200, &b, "application/json");
}

/* ---- what was spent, and for whom */

/* reader: who is told of his own owners alone, or NULL. */
static void spent_write(struct out *o, const struct spent_line *v, uint32_t n,
                        uint32_t family, const struct principal *reader)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].family != family ||
            (reader && (family != SPENT_OF_OWNER ||
                        strcmp(v[i].label[0], BILL_RUNNING) == 0 ||
                        !principal_asks(reader, v[i].label[0]))))
            continue;
        out_object(o, NULL);
        if (family == SPENT_OF_OWNER) {
            out_str(o, "owner", v[i].label[0]);
        } else {
            out_str(o, "type", v[i].label[0]);
            out_str(o, "provider", v[i].label[1]);
            out_str(o, "market", v[i].label[2]);
        }
        out_micros(o, "spent", v[i].nanos / 1000);
        out_close(o);
    }
}

void get_spent(struct exchange *ex)
{
    const struct principal *reader = ex->trusted ? NULL : ex->caller.who;
    struct arena arena = {0};
    const struct spent_line *v;
    int64_t since, until, idle = 0;
    struct buf b;
    struct out o;
    uint32_t n;

    if (!number(ex, "since", 0, &since) ||
        !number(ex, "until", INT64_MAX / 1000, &until))
        return;
    n = spent_read(&ex->server->history->spent, since, until, &arena, &v,
                   &since, &until);
    for (uint32_t i = 0; i < n; i++)
        idle += v[i].family == SPENT_OF_IDLE && !reader ? v[i].nanos : 0;
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_time(&o, "since", since * 1000);
    out_time(&o, "until", until * 1000);
    out_array(&o, "owners");
    spent_write(&o, v, n, SPENT_OF_OWNER, reader);
    out_close(&o);
    out_array(&o, "types");
    spent_write(&o, v, n, SPENT_OF_TYPE, reader);
    out_close(&o);
    out_micros(&o, "idle", idle / 1000);
    out_bool(&o, "own", reader);
    out_close(&o);
    arena_done(&arena);
    exchange_reply(ex, 200, &b, "application/json");
}

/* ---- decisions */

static void other_write(struct out *o, const struct decision_other *x)
{
    out_object(o, NULL);
    out_str(o, "type", x->type);
    out_str(o, "zone", x->zone);
    out_bool(o, "spot", x->spot);
    out_micros(o, "more_per_hour", x->more_micros_hour);
    out_str(o, "reason", reason_code(x->why));
    out_str(o, "text", x->why == REASON_NONE ? "" : reason_text(x->why));
    out_close(o);
}

static void decision_write(struct out *o, const struct decision *x)
{
    int64_t change = x->launch ? x->micros_hour : -x->micros_hour;

    out_object(o, NULL);
    out_int(o, "id", x->id);
    out_time(o, "at", x->at_ms);
    out_str(o, "what", x->launch ? "launch" : "end");
    out_str(o, "type", x->type);
    out_str(o, "zone", x->zone);
    out_bool(o, "spot", x->spot);
    out_uint(o, "count", x->count);
    out_str(o, "node", x->node);
    out_str(o, "reason", reason_code(x->why));
    out_str(o, "text", reason_text(x->why));
    out_str(o, "owner", x->owner);
    out_str(o, "source", x->owner[0] ? source_name(x->source) : "");
    out_str(o, "demand", x->demand);
    out_micros(o, "change_per_hour", change);
    out_micros(o, "before_per_hour", x->bill_micros_hour);
    out_array(o, "others");
    for (uint32_t i = 0; i < x->n_others; i++)
        other_write(o, &x->others[i]);
    out_close(o);
    out_close(o);
}

void get_decisions(struct exchange *ex)
{
    struct arena arena = {0};
    struct decision *v;
    int64_t after;
    struct buf b;
    struct out o;
    uint32_t n;

    if (!number(ex, "after", 0, &after))
        return;
    n = decisions_read(ex->server->decisions, after, &arena, &v);
    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_array(&o, "decisions");
    for (uint32_t i = 0; i < n; i++)
        decision_write(&o, &v[i]);
    out_close(&o);
    out_int(&o, "next", n ? v[n - 1].id : after);
    out_close(&o);
    arena_done(&arena);
    exchange_reply(ex, 200, &b, "application/json");
}
