/*
 * cloud_find.c - find() of the provider "played": a word on each machine by its id,
 * whatever lists say, or none.
 */
#include "cloud_inside.h"

int cloud_find(void *self, struct davit_call *call, const char *const *ids,
               size_t n_ids, struct davit_sink *sink, davit_put_done *done,
               struct davit_error *e)
{
    struct handle *h = self;
    struct cloud *c = h->cloud;
    enum luck luck;
    int status;

    if (!c->opts.finds)
        return DAVIT_UNSUPPORTED;
    status = call_meets(h, call, false, &luck, e);
    if (status != DAVIT_OK)
        return status;
    if (call_is_silent(luck))
        return call_no_reply(c, e);
    for (size_t i = 0; i < n_ids; i++) {
        const struct cloud_machine *m = cloud_machine(c, ids[i]);
        bool there = m && m->gone_ms > player_now_ms(c->player);

        if (c->meets->mute_ids &&
            player_chance(c->player, 1000) < c->meets->mute_ids) {
            c->faults++;
            continue;
        }
        done(sink, ids[i], there ? DAVIT_OK : DAVIT_NOT_FOUND);
    }
    return DAVIT_OK;
}
