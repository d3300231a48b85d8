/*
 * held.c - the exchanges by which a person lets go what is held: a
 * configuration, machines that may be somebody else's, ends that are too many,
 * records of machines that nobody can tell of.
 *
 * The control loop decides; nothing held is a 404.
 */
#include <stdio.h>

#include "inside.h"

static void count_answer(struct exchange *ex, const char *text)
{
    const struct command *cmd = &ex->pending->cmd;
    struct buf b;
    struct out o;

    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_uint(&o, "count", cmd->count);
    out_str(&o, "text", text);
    out_close(&o);
    exchange_reply(ex, 200, &b, "application/json");
}

/* ---- a configuration */

static void apply_answer(struct exchange *ex)
{
    configuration_answer(ex, "applied",
                         "the configuration is taken over as it is");
}

void post_apply(struct exchange *ex)
{
    control_send(ex, pending_new(ex->server->pending, COMMAND_APPLY),
                 apply_answer);
}

/* ---- ends */

static void release_answer(struct exchange *ex)
{
    uint32_t n = ex->pending->cmd.count;
    char text[160];

    if (command_refused(ex))
        return;
    snprintf(text, sizeof text,
             "%u end%s that %s held go%s on; lists that lack many machines are "
             "believed",
             n, n == 1 ? "" : "s", n == 1 ? "was" : "were", n == 1 ? "es" : "");
    count_answer(ex, text);
}

void post_release(struct exchange *ex)
{
    control_send(ex, pending_new(ex->server->pending, COMMAND_RELEASE),
                 release_answer);
}

/* ---- machines */

/* Any name of a node is taken; one that no page shows may be in the ledger all
 * the same. */
static const char *machine_id(struct exchange *ex, struct arena *a)
{
    struct status_page *page = status_get(ex->server->board);
    const char *id = arena_strdup(a, ex->arg);
    struct view v;
    uint32_t i;

    if (!page)
        return id;
    view_open(&v, page);
    i = node_find(&v, ex->arg);
    if (i != NONE)
        id = arena_strdup(a, v.snapshot->nodes[i].id);
    view_done(&v);
    status_unref(page);
    return id;
}

static void machine_send(struct exchange *ex, enum command_kind kind,
                         route_fn *answer)
{
    struct pending *p = pending_new(ex->server->pending, kind);

    p->cmd.machine = machine_id(ex, &p->cmd.arena);
    control_send(ex, p, answer);
}

static void adopt_answer(struct exchange *ex)
{
    uint32_t n = ex->pending->cmd.count;
    char text[120];

    if (command_refused(ex))
        return;
    snprintf(text, sizeof text,
             "%u machine%s ours now: ended when idle, like any other", n,
             n == 1 ? " is" : "s are");
    count_answer(ex, text);
}

void adopt_node(struct exchange *ex)
{
    machine_send(ex, COMMAND_ADOPT, adopt_answer);
}

void post_adopt(struct exchange *ex)
{
    control_send(ex, pending_new(ex->server->pending, COMMAND_ADOPT),
                 adopt_answer);
}

static void forget_answer(struct exchange *ex)
{
    char text[200];

    if (command_refused(ex))
        return;
    snprintf(text, sizeof text,
             "%.60s is forgotten and left alone; if its provider lists it, it "
             "comes back",
             ex->pending->cmd.machine);
    count_answer(ex, text);
}

void forget_node(struct exchange *ex)
{
    machine_send(ex, COMMAND_FORGET, forget_answer);
}
