/*
 * ray.c - a Ray head, if one answers.
 */
#include <string.h>

#include "../../base/clock.h"
#include "../../wire/ray/ray.h"
#include "init.h"

enum { PATIENCE_MS = 3000 };

void init_ray(struct found *f, const char *address, bool asked)
{
    struct ray_head *h = ray_head_new(address, "");
    struct source_view *view = NULL;
    struct err err;

    if (ray_head_read(h, clock_mono_ms() + PATIENCE_MS, &view, &err) == ST_OK) {
        f->ray = arena_strdup(&f->arena, address);
        INIT_FOUND(f, "a Ray head at %s, %u nodes", address, view->n_nodes);
        if (!view->v2)
            INIT_UNKNOWN(f, "the Ray head runs without "
                            "RAY_enable_autoscaler_v2=1: start it with that, "
                            "and with --no-monitor (docs/ray.md)");
    } else if (asked || err.status == ST_AUTH) {
        f->ray = arena_strdup(&f->arena, address);
        INIT_UNKNOWN(f, "the Ray head at %s does not answer: %s", address,
                     err.text);
    }
    ray_head_free(h);
    source_view_unref(view);
}
