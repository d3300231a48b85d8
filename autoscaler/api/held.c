/*
 * held.c - the exchanges by which a person lets go what is held: a
 * configuration, machines that may be somebody else's, ends that are too many,
 * records of machines that nobody can tell of.
 *
 * The control loop decides; nothing held is a 404, and something else than the body
 * says was seen is a 409.
 */
#include <stdio.h>
#include <string.h>

#include "../codec/codec.h"
#include "inside.h"

/* ---- what the client has seen */

static bool read_text(const json_t *v, struct arena *a, const char **ret)
{
    if (json_is_string(v))
        *ret = arena_strdup(a, json_string_value(v));
    return json_is_string(v);
}

static bool read_names(const json_t *v, struct arena *a, struct names *ret)
{
    const char **names = ARENA_ARRAY(a, const char *, json_array_size(v) + 1);
    const json_t *name;
    size_t i;

    if (!json_is_array(v))
        return false;
    json_array_foreach(v, i, name)
        if (!read_text(name, a, &names[i]))
            return false;
    *ret = (struct names){names, (uint32_t)json_array_size(v)};
    return true;
}

static enum status shown_read(json_t *body, struct arena *a,
                              struct command_shown *ret, struct err *err)
{
    const char *key;
    json_t *v;

    *ret = (struct command_shown){.config = "", .head = "", .journal = ""};
    if (!json_is_object(body))
        return err_set(err, ST_INVALID, "body: must be an object");
    json_object_foreach(body, key, v) {
        bool good = strcmp(key, "config") == 0 ? read_text(v, a, &ret->config)
                    : strcmp(key, "head") == 0 ? read_text(v, a, &ret->head)
                    : strcmp(key, "journal") == 0
                        ? read_text(v, a, &ret->journal)
                    : strcmp(key, "machines") == 0
                        ? read_names(v, a, &ret->machines)
                    : strcmp(key, "providers") == 0
                        ? read_names(v, a, &ret->providers)
                        : false;

        if (!good)
            return err_set(err, ST_INVALID,
                           "body: %.40s: allowed are config, head and journal, "
                           "which are texts, and machines and providers, which "
                           "are lists of names",
                           key);
    }
    return ST_OK;
}

/* Of all that is held; a body says what of it was seen. */
static void held_send(struct exchange *ex, enum command_kind kind,
                      route_fn *answer)
{
    struct pending *p = pending_new(ex->server->pending, kind);
    struct command_shown *shown;
    json_t *body = NULL;
    struct err err;
    enum status s = ST_OK;

    if (ex->body.n && !exchange_charge_tree(ex)) {
        pending_unref(p);
        return;
    }
    if (ex->body.n) {
        shown = ARENA_NEW(&p->cmd.arena, struct command_shown);
        s = codec_parse(ex->body.s, ex->body.n, &body, &err);
        if (s != ST_OK)
            err_prefix(&err, "body");
        else
            s = shown_read(body, &p->cmd.arena, shown, &err);
        json_decref(body);
        p->cmd.shown = shown;
    }
    if (s == ST_OK) {
        control_send(ex, p, answer);
        return;
    }
    pending_unref(p);
    exchange_err(ex, &err);
}

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
    held_send(ex, COMMAND_APPLY, apply_answer);
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
    held_send(ex, COMMAND_RELEASE, release_answer);
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
    held_send(ex, COMMAND_ADOPT, adopt_answer);
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
