/*
 * fleet.c - see fleet.h.
 *
 * Two hash indices, by id and by (provider, cloud_id), hold records, not keys:
 * a lookup compares with what the record says now, so an entry that became
 * stale (a changed cloud_id) is merely passed over.  fleet_touch() enters a
 * record under its present cloud_id; a sweep builds both anew.
 */
#include "fleet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"

static uint64_t hash_id(const char *id)
{
    return hash_name(id);
}

static uint64_t hash_cloud(const char *provider, const char *cloud_id)
{
    return hash_number(hash_name(provider), hash_name(cloud_id));
}

/* Enters a record under its present key. */
static void index_put(struct fleet *f, struct machine *m, bool by_cloud)
{
    struct hash *t = by_cloud ? &f->by_cloud : &f->by_id;
    uint64_t h = by_cloud ? hash_cloud(m->provider, m->cloud_id)
                          : hash_id(m->id);
    const struct machine *x;

    for (uint32_t at = 0; (x = hash_next(t, h, &at));)
        if (x == m)
            return;
    hash_add(t, h, m);
}

static void cloud_index_put(struct fleet *f, struct machine *m)
{
    if (m->indexed || !m->cloud_id[0])
        return;
    index_put(f, m, true);
    m->indexed = true;
}

static void index_build(struct fleet *f)
{
    hash_clear(&f->by_id);
    hash_clear(&f->by_cloud);
    for (uint32_t i = 0; i < f->n; i++) {
        index_put(f, f->v[i], false);
        f->v[i]->indexed = false;
        cloud_index_put(f, f->v[i]);
    }
}

void fleet_init(struct fleet *f)
{
    *f = (struct fleet){.texts = texts_new()};
}

/* ---- texts */

/* Of one machine alone. */
static bool is_own(const struct machine *m, const char *const *at)
{
    return at == &m->cloud_id || at == &m->address || at == &m->ray_id;
}

bool machine_text(struct machine *m, const char **at, size_t room,
                  const char *text)
{
    size_t n = strlen(text);
    const char *was = *at;

    assert(m->texts);
    if (n >= room) {
        n = room - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--; /* not within a letter: it goes out as JSON */
    }
    if (strncmp(was, text, n) == 0 && was[n] == '\0')
        return false;
    *at = is_own(m, at) ? texts_own(m->texts, text, n)
                        : texts_share(m->texts, text, n);
    texts_drop(m->texts, was);
    if (at == &m->cloud_id || at == &m->provider)
        m->indexed = false;
    return true;
}

void machine_texts_drop(struct machine *m)
{
    const char **const all[] = {&m->request_id, &m->provider,    &m->type,
                                &m->zone,       &m->cloud_id,    &m->address,
                                &m->ray_id,     &m->config_hash, &m->detail,
                                &m->asked_by,   &m->because,     &m->previous,
                                &m->host_group, &m->cloud_holds};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        texts_drop(m->texts, *all[i]);
        *all[i] = "";
    }
}

/* A page may show its id, and what it had until now. */
static void machine_free(struct fleet *f, struct machine *m)
{
    machine_texts_drop(m);
    texts_retire(f->texts, m);
}

void fleet_done(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        machine_free(f, f->v[i]);
    free(f->v);
    texts_free(f->texts);
    hash_done(&f->by_id);
    hash_done(&f->by_cloud);
    *f = (struct fleet){0};
}

static void tell(struct fleet *f, const struct machine *m,
                 enum machine_state from)
{
    f->version++;
    if (f->on_change)
        f->on_change(f->arg, m, from);
}

struct machine *fleet_add(struct fleet *f, const char *id,
                          enum machine_state state, int64_t now_ms)
{
    struct machine *m;

    assert(id[0] && strlen(id) < sizeof m->id);
    assert(state < STATE_COUNT && !fleet_by_id(f, id));
    m = mem_alloc(sizeof *m);
    *m = (struct machine){MACHINE_TEXTS, .texts = f->texts};
    snprintf(m->id, sizeof m->id, "%s", id);
    m->state = state;
    m->created_ms = m->since_ms = m->progress_ms = now_ms;
    m->price_micros_hour = m->agreed_micros_hour = -1;
    VEC_PUSH(NULL, f, m);
    index_put(f, m, false);
    f->version++;
    return m;
}

void fleet_move(struct fleet *f, struct machine *m, enum machine_state to,
                int64_t now_ms)
{
    enum machine_state from = m->state;

    assert(state_may_move(from, to));
    m->state = to;
    m->unread = false;
    m->since_ms = now_ms;
    m->progress_ms = now_ms;
    if (to == STATE_READY && m->ready_ms == 0)
        m->ready_ms = now_ms;
    if (to == STATE_DRAINING)
        m->drain_since_ms = now_ms;
    else if (from == STATE_DRAINING && to == STATE_READY)
        m->drain_since_ms = 0;
    cloud_index_put(f, m);
    tell(f, m, from);
}

void fleet_touch(struct fleet *f, struct machine *m)
{
    cloud_index_put(f, m);
    tell(f, m, m->state);
}

void fleet_bind(struct fleet *f, struct machine *m, const char *cloud_id)
{
    assert(*cloud_id && strlen(cloud_id) < MACHINE_ROOM(cloud_id));
    MACHINE_SET(m, cloud_id, cloud_id);
    fleet_touch(f, m);
}

struct machine *fleet_by_id(const struct fleet *f, const char *id)
{
    struct machine *m;

    for (uint32_t at = 0; (m = hash_next(&f->by_id, hash_id(id), &at));)
        if (strcmp(m->id, id) == 0)
            return m;
    return NULL;
}

static bool is_of_cloud(const struct machine *m, const char *provider,
                        const char *cloud_id)
{
    return strcmp(m->cloud_id, cloud_id) == 0 &&
           strcmp(m->provider, provider) == 0;
}

void fleet_index(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        cloud_index_put(f, f->v[i]);
}

bool launch_is_same(const char *request_id, const char *other)
{
    return !*request_id || !*other || strcmp(request_id, other) == 0;
}

struct machine *fleet_by_launch(const struct fleet *f, const char *provider,
                                const char *cloud_id, const char *request_id)
{
    uint64_t h = hash_cloud(provider, cloud_id);
    struct machine *m, *found = NULL;

    if (!cloud_id[0])
        return NULL;
    for (uint32_t at = 0; (m = hash_next(&f->by_cloud, h, &at));) {
        if (!is_of_cloud(m, provider, cloud_id) ||
            !launch_is_same(m->request_id, request_id))
            continue;
        if (!found || (found->state == STATE_GONE) > (m->state == STATE_GONE) ||
            ((found->state == STATE_GONE) == (m->state == STATE_GONE) &&
             m->created_ms >= found->created_ms))
            found = m;
    }
    return found;
}

bool fleet_shares_id(const struct fleet *f, const struct machine *m)
{
    uint64_t h = hash_cloud(m->provider, m->cloud_id);
    const struct machine *x;

    for (uint32_t at = 0; (x = hash_next(&f->by_cloud, h, &at));)
        if (x != m && x->state != STATE_GONE &&
            is_of_cloud(x, m->provider, m->cloud_id))
            return true;
    return false;
}

struct offer_key machine_offer(const struct machine *m)
{
    return (struct offer_key){m->provider, m->type, m->zone, m->spot};
}

uint32_t fleet_sweep(struct fleet *f)
{
    uint32_t kept = 0, removed;

    for (uint32_t i = 0; i < f->n; i++)
        if (f->v[i]->state == STATE_GONE)
            machine_free(f, f->v[i]);
        else
            f->v[kept++] = f->v[i];
    removed = f->n - kept;
    if (removed == 0)
        return 0;
    f->n = kept;
    f->version++;
    index_build(f);
    return removed;
}
