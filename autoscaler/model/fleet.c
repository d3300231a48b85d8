/*
 * fleet.c - see fleet.h.
 *
 * Two hash indices, by id and by (provider, cloud_id), hold records, not keys:
 * a lookup compares with what the record says now, so an entry that became
 * stale (a changed cloud_id) is merely passed over.  fleet_touch() enters a
 * record under its present cloud_id; a sweep builds both anew; a cloud id that
 * is not found there is looked for in the records themselves.
 */
#include "fleet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (!p) {
        fputs("davit: out of memory\n", stderr);
        abort();
    }
    return p;
}

static uint32_t hash_text(uint32_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h ^ (h >> 15);
}

static uint32_t hash_id(const char *id)
{
    return hash_text(2166136261u, id);
}

static uint32_t hash_cloud(const char *provider, const char *cloud_id)
{
    return hash_text(hash_text(2166136261u, provider) + 1, cloud_id);
}

static uint32_t hash_of(const struct machine *m, bool by_cloud)
{
    return by_cloud ? hash_cloud(m->provider, m->cloud_id) : hash_id(m->id);
}

static void index_put(struct fleet_index *x, struct machine *m, uint32_t hash)
{
    uint32_t at = hash & (x->size - 1);

    for (; x->v[at]; at = (at + 1) & (x->size - 1))
        if (x->v[at] == m)
            return;  /* on its way already */
    x->v[at] = m;
    x->n++;
}

/* Empty, with room for twice as many as there are. */
static void index_build(const struct fleet *f, struct fleet_index *x,
                        bool by_cloud)
{
    uint32_t size = 64;

    while (size < f->n * 4)
        size *= 2;
    free(x->v);
    x->v = must(calloc(size, sizeof(struct machine *)));
    x->size = size;
    x->n = 0;
    for (uint32_t i = 0; i < f->n; i++)
        if (!by_cloud || f->v[i]->cloud_id[0])
            index_put(x, f->v[i], hash_of(f->v[i], by_cloud));
}

static void index_add(const struct fleet *f, struct fleet_index *x,
                      struct machine *m, bool by_cloud)
{
    if (x->size == 0 || x->n >= x->size / 2)
        index_build(f, x, by_cloud);  /* m is in f->v already */
    else
        index_put(x, m, hash_of(m, by_cloud));
}

void fleet_init(struct fleet *f)
{
    *f = (struct fleet){0};
}

static void machine_free(struct machine *m)
{
    free(m->previous);
    free(m);
}

void fleet_done(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        machine_free(f->v[i]);
    free(f->v);
    free(f->by_id.v);
    free(f->by_cloud.v);
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
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 16;
        f->v = must(realloc(f->v, f->cap * sizeof *f->v));
    }
    m = must(calloc(1, sizeof *m));
    snprintf(m->id, sizeof m->id, "%s", id);
    m->state = state;
    m->created_ms = m->since_ms = m->progress_ms = now_ms;
    m->price_micros_hour = -1;
    f->v[f->n++] = m;
    index_add(f, &f->by_id, m, false);
    f->version++;
    return m;
}

void fleet_move(struct fleet *f, struct machine *m, enum machine_state to,
                int64_t now_ms)
{
    enum machine_state from = m->state;

    assert(state_may_move(from, to));
    m->state = to;
    m->since_ms = now_ms;
    m->progress_ms = now_ms;
    if (to == STATE_READY && m->ready_ms == 0)
        m->ready_ms = now_ms;
    if (to == STATE_DRAINING)
        m->drain_since_ms = now_ms;
    else if (from == STATE_DRAINING && to == STATE_READY)
        m->drain_since_ms = 0;
    if (m->cloud_id[0])
        index_add(f, &f->by_cloud, m, true);
    tell(f, m, from);
}

void fleet_touch(struct fleet *f, struct machine *m)
{
    if (m->cloud_id[0])
        index_add(f, &f->by_cloud, m, true);
    tell(f, m, m->state);
}

bool machine_detail(struct machine *m, const char *text)
{
    size_t n = strlen(text);

    if (n >= sizeof m->detail) {
        n = sizeof m->detail - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;  /* not within a letter: it goes out as JSON */
    }
    if (strncmp(m->detail, text, n) == 0 && m->detail[n] == '\0')
        return false;
    memmove(m->detail, text, n);
    m->detail[n] = '\0';
    return true;
}

void fleet_bind(struct fleet *f, struct machine *m, const char *cloud_id)
{
    int n = snprintf(m->cloud_id, sizeof m->cloud_id, "%s", cloud_id);

    assert(n > 0 && (size_t)n < sizeof m->cloud_id);
    fleet_touch(f, m);
}

struct machine *fleet_by_id(const struct fleet *f, const char *id)
{
    const struct fleet_index *x = &f->by_id;
    uint32_t at;

    if (x->size == 0)
        return NULL;
    at = hash_id(id) & (x->size - 1);
    for (; x->v[at]; at = (at + 1) & (x->size - 1))
        if (strcmp(x->v[at]->id, id) == 0)
            return x->v[at];
    return NULL;
}

static bool is_of_cloud(const struct machine *m, const char *provider,
                        const char *cloud_id)
{
    return strcmp(m->cloud_id, cloud_id) == 0 &&
           strcmp(m->provider, provider) == 0;
}

/* A cloud may give a name again: of several, the one that is not gone. */
static struct machine *index_by_cloud(const struct fleet_index *x,
                                      const char *provider,
                                      const char *cloud_id)
{
    struct machine *gone = NULL;
    uint32_t at;

    if (x->size == 0)
        return NULL;
    at = hash_cloud(provider, cloud_id) & (x->size - 1);
    for (; x->v[at]; at = (at + 1) & (x->size - 1)) {
        if (!is_of_cloud(x->v[at], provider, cloud_id))
            continue;
        if (x->v[at]->state != STATE_GONE)
            return x->v[at];
        gone = x->v[at];
    }
    return gone;
}

struct machine *fleet_by_cloud(const struct fleet *f, const char *provider,
                               const char *cloud_id)
{
    struct machine *m;

    if (!cloud_id[0])
        return NULL;
    m = index_by_cloud(&f->by_cloud, provider, cloud_id);
    if (m && m->state != STATE_GONE)
        return m;
    /* Not indexed: new to us, or written without fleet_bind() as the journal
     * does.  To take a known machine for an unknown one costs money, so look;
     * the index is a cache, hence not const for us. */
    for (uint32_t i = 0; i < f->n; i++)
        if (is_of_cloud(f->v[i], provider, cloud_id) &&
            f->v[i]->state != STATE_GONE) {
            index_build(f, &((struct fleet *)f)->by_cloud, true);
            return f->v[i];
        }
    return m;
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
            machine_free(f->v[i]);
        else
            f->v[kept++] = f->v[i];
    removed = f->n - kept;
    if (removed == 0)
        return 0;
    f->n = kept;
    f->version++;
    index_build(f, &f->by_id, false);
    index_build(f, &f->by_cloud, true);
    return removed;
}
