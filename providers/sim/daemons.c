/*
 * daemons.c - which daemons are at work on this cloud: each leaves its name and the
 * time now and then, as it lists.
 */
#include <string.h>

#include "sim.h"

enum { LEFT_EACH_MS = 10000, KEPT_MS = 600000 };

static bool left_within(const struct op *op, const json_t *d, int64_t ms)
{
    int64_t ago = op->now_ms - field_int(d, "at_ms");

    return d && ago >= 0 && ago < ms;
}

static void leave(struct op *op, const char *me)
{
    json_t *all = json_object_get(op->root, "daemons"), *d;
    const char *name;
    void *next;

    if (!all) {
        all = json_object();
        json_object_set_new(op->root, "daemons", all);
    }
    json_object_foreach_safe(all, next, name,
                             d) if (!left_within(op, d, KEPT_MS))
        json_object_del(all, name);
    json_object_set_new(
        all, me,
        kit_must(json_pack("{s:s, s:I}", "cluster", op->sim->cluster, "at_ms",
                           (json_int_t)op->now_ms)));
    op->dirty = true;
    store_write(op);
}

/* A cloud that nothing was launched in has no file yet, and nobody to meet.  What
 * goes wrong here changes no list. */
void daemons_meet(struct op *op)
{
    const struct davit_host *h = op->sim->host;
    struct davit_error ignored = {.size = sizeof ignored};
    json_t *all = json_object_get(op->root, "daemons"), *d;
    const char *me = DAVIT_HAS(h, struct davit_host, neighbour)
                         ? h->who(op->call)
                         : "";
    const char *name;

    if (!*me || field_int(op->root, "seq") == 0)
        return;
    json_object_foreach(all, name, d)
        if (strcmp(name, me) != 0 &&
            strcmp(field_text(d, "cluster"), op->sim->cluster) == 0)
            h->neighbour(op->call, name, field_int(d, "at_ms"));
    if (left_within(op, json_object_get(all, me), LEFT_EACH_MS))
        return;
    op->error = &ignored;
    if (op->lock_fd < 0) {
        store_done(op);
        if (store_try_lock_and_read(op) != DAVIT_OK)
            return;
    }
    leave(op, me);
}
