/*
 * cloud_list.c - the list of the provider "played": what a daemon gets to see of
 * a cloud's machines, and what the cloud notes of who saw what.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cloud_inside.h"

static uint32_t phase_of(const struct cloud_machine *m, int64_t now)
{
    return m->gone_ms != INT64_MAX ? DAVIT_STOPPING
           : m->failed             ? DAVIT_FAILED
           : m->ready_ms <= now    ? DAVIT_RUNNING
                                   : DAVIT_STARTING;
}

void cloud_put_machine(const struct cloud *c, const struct cloud_machine *m,
                       const char *id, int lie, struct davit_sink *sink,
                       davit_put_machine *put)
{
    int64_t now = player_now_ms(c->player);
    uint32_t phase = lie < 0 ? phase_of(m, now) : (uint32_t)lie;
    char detail[48];
    bool named = c->opts.head && head_is_addressed(c->opts.head);
    char address[HEAD_ADDRESS_MAX];
    struct davit_machine out = {
        .size = sizeof out,
        .id = id,
        .request_id = m->request_id,
        .offer = m->type,
        .zone = m->zone,
        .address = named ? head_address(m->id, address) : "",
        .spot = m->spot,
        .phase = phase,
        .failure = phase == DAVIT_FAILED ? DAVIT_STOCKOUT : DAVIT_OK,
        .queued = phase == DAVIT_STARTING && now < m->queued_ms,
        .detail = phase == DAVIT_FAILED ? "no capacity after all" : NULL};

    if (m->restless && !m->failed) {
        snprintf(detail, sizeof detail, "second %lld of its start",
                 (long long)(now - m->launched_ms) / 1000);
        out.detail = detail;
        if (!named) /* else its node would have no name */
            out.address = now / 1000 % 2 ? "10.0.0.1" : "10.0.0.2";
    }
    put(sink, &out);
}

bool handle_is_newest(const struct handle *h)
{
    const struct handle *n = h->cloud->handles;

    while (n->daemon != h->daemon)
        n = n->before;
    return n->start == h->start;
}

static bool list_has(const struct handle *h, const struct cloud_machine *m)
{
    return strcmp(m->cluster, h->cluster) == 0 &&
           m->listed_ms <= player_now_ms(h->cloud->player);
}

static void list_counts(const struct cloud *c, struct cloud_machine *m,
                        bool late)
{
    int64_t now = player_now_ms(c->player);
    bool goes = m->gone_ms != INT64_MAX;

    if (late)
        return; /* its answer may never be looked at */
    m->lists++;
    m->absent_ms = 0;
    if (goes && !m->end_known_ms)
        m->end_known_ms = now;
    if (!m->again_ms && !(goes && m->hidden_ms))
        m->again_ms = now;
    if (!m->first_list_ms)
        m->first_list_ms = now;
}

/* Did a daemon ask for its end, or the cloud? */
static bool is_going(const struct cloud_machine *m)
{
    return m->asked_ms || m->end_unsure_ms || m->gone_ms != INT64_MAX;
}

/* Of those behind the first `shown`; what no list had yet is not missed, nor what
 * is long thought to be gone. */
static uint32_t staying(const struct handle *h, uint32_t shown)
{
    const struct cloud *c = h->cloud;
    uint32_t n = 0;

    for (uint32_t i = shown; i < c->there.n; i++)
        n += list_has(h, c->there.v[i]) && c->there.v[i]->first_list_ms &&
             !c->there.v[i]->hidden_ms && !is_going(c->there.v[i]);
    return n;
}

/* A good list lacks it; few: nobody would wonder.  One of whose end who ends it
 * was told is gone when a second one does, another when lists lack it for a settle
 * time. */
static void list_lacks(const struct cloud *c, struct cloud_machine *m, bool few)
{
    int64_t now = player_now_ms(c->player);

    if (m->again_ms && now - m->again_ms > CLOUD_FOUND_MS) {
        if (m->hidden_ms && m->gone_ms == INT64_MAX)
            m->end_known_ms = 0;
        m->hidden_ms = 0; /* everybody knows it again */
    }
    if (!m->absent_ms)
        m->absent_ms = now;
    m->again_ms = 0;
    if (few && ((m->end_known_ms && m->absent_ms < now) ||
                now - m->absent_ms >= LIST_LAG_MOST_MS))
        m->hidden_ms = now;
}

/* Does this list say of it what is not so?  Once, and then not for a while. */
static bool row_is_bad(struct cloud *c, struct cloud_machine *m,
                       uint32_t of_1000)
{
    int64_t now = player_now_ms(c->player);

    if (!of_1000 || (m->lied_ms && now - m->lied_ms < LIES_APART_MS) ||
        player_chance(c->player, 1000) >= of_1000)
        return false;
    m->lied_ms = now;
    c->faults++;
    return true;
}

static int lie_draw(struct cloud *c, struct cloud_machine *m)
{
    if (c->says > CLOUD_SAYS_NOTHING)
        return c->says == CLOUD_SAYS_FAILED     ? DAVIT_FAILED
               : c->says == CLOUD_SAYS_STOPPING ? DAVIT_STOPPING
                                                : DAVIT_FAILED + 1;
    if (m->gone_ms != INT64_MAX || m->failed ||
        !row_is_bad(c, m, c->meets->lies))
        return -1;
    return player_chance(c->player, 2) ? DAVIT_FAILED : DAVIT_STOPPING;
}

int cloud_list(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e)
{
    struct handle *h = self;
    struct cloud *c = h->cloud;
    bool cut, late;
    uint32_t shown;
    enum luck luck;
    int status = call_meets(h, call, false, &luck, e);
    const struct cloud_weather *w = c->meets;

    cut = w->cut_list && player_chance(c->player, 1000) < w->cut_list;
    if (status != DAVIT_OK)
        return status;
    if (w->lists_fail || call_is_silent(luck))
        return call_no_reply(c, e);
    late = player_is_late(c->player);
    c->faults += cut;
    shown = cut ? c->there.n / 2 : c->there.n;
    for (uint32_t i = 0; i < c->there.n; i++) {
        struct cloud_machine *m = c->there.v[i];
        bool has;

        if (!list_has(h, m))
            continue;
        has = i < shown && c->says != CLOUD_SAYS_NOTHING &&
              !row_is_bad(c, m, w->drops);
        if (has)
            cloud_put_machine(c, m, m->id, lie_draw(c, m), sink, put);
        if (m->daemon != h->daemon || !handle_is_newest(h))
            continue;
        if (has) {
            list_counts(c, m, late);
        } else {
            list_lacks(c, m, staying(h, shown) <= ABSENT_FEW);
        }
    }
    if (c->says && --c->says_lists == 0)
        c->says = CLOUD_SAYS_TRUTH;
    return DAVIT_OK;
}
