/*
 * end.c - chosen machines end, by name.
 *
 * What is gone is NOT_FOUND, what is on its way out is fine, and one name that
 * nobody knows keeps no other alive.  Names of raises that failed bring the
 * target down instead; so does any other end on such a pool, before it, since
 * Azure would otherwise buy what could not be had while it deletes.
 */
#include <stdlib.h>
#include <string.h>

#include "aks.h"

#define TRIES_MAX 100

struct ending {
    const char *const *ids;
    size_t n_ids;
    bool *settled; /* reported, or not this pool's */
    struct davit_sink *sink;
    davit_put_done *done;
};

bool id_of_pool(const char *id, const char *pool)
{
    size_t n = strlen(pool);
    if (strncmp(id, pool, n) == 0 && id[n] == '/')
        return true; /* one that failed to come */
    return strncmp(id, "aks-", 4) == 0 && strncmp(id + 4, pool, n) == 0 &&
           id[4 + n] == '-';
}

static void settle(struct ending *d, size_t i, int status)
{
    d->settled[i] = true;
    d->done(d->sink, d->ids[i], status);
}

static const struct vm *vm_named(const struct pool *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

/* What needs no doing: gone, or on its way out.  Returns how many are left;
 * *ret_failed tells whether some are launches that failed. */
static size_t ending_sort(struct ending *d, const struct pool *p,
                          const char *pool, const char **ret_names,
                          bool *ret_failed)
{
    size_t n = 0;
    *ret_failed = false;
    for (size_t i = 0; i < d->n_ids; i++) {
        if (d->settled[i] || !id_of_pool(d->ids[i], pool))
            continue;
        const struct vm *v = vm_named(p, d->ids[i]);
        if (strchr(d->ids[i], '/') && p->missing > 0)
            *ret_failed = true;
        else if (!v)
            settle(d, i, DAVIT_NOT_FOUND);
        else if (v->stopping)
            settle(d, i, DAVIT_OK);
        else
            ret_names[n++] = d->ids[i];
    }
    return n;
}

static void ending_report(struct ending *d, const char *pool, bool failed)
{
    for (size_t i = 0; i < d->n_ids; i++)
        if (!d->settled[i] && id_of_pool(d->ids[i], pool) &&
            (strchr(d->ids[i], '/') != NULL) == failed)
            settle(d, i, DAVIT_OK);
}

static int end_once(struct op *op, struct ending *d, const char *pool,
                    const char **names, bool *ret_again)
{
    struct pool p;
    bool failed = false;
    *ret_again = false;
    int st = pool_get(op, pool, &p);
    if (st == DAVIT_OK)
        st = pool_machines(op, &p, false);
    size_t n = st == DAVIT_OK ? ending_sort(d, &p, pool, names, &failed) : 0;
    bool gap = p.failed && p.count > (int64_t)p.n;
    if (st == DAVIT_OK && (n > 0 || failed)) {
        if (p.maintained) {
            char work[100];
            pool_work(&p, work, sizeof work);
            st = kit_error(op->error, DAVIT_RETRY, "Maintenance", "%s", work);
        } else if (p.busy) {
            pool_abort_old(op, &p);
            *ret_again = true;
            st = pool_busy(op, &p);
        } else if (failed || gap) {
            /* The target first: with it raised, Azure would buy for us what
             * could not be had before. */
            st = pool_lower(op, &p);
            if (st == DAVIT_OK)
                ending_report(d, pool, true);
            *ret_again = st == DAVIT_OK && n > 0;
            if (*ret_again)
                st = pool_busy(op, &p);
        } else {
            st = pool_delete(op, &p, names, n);
            if (st == DAVIT_OK)
                ending_report(d, pool, false);
        }
        if (st == DAVIT_RETRY && pool_contested(op)) {
            *ret_again = true;
            st = pool_busy(op, &p);
        }
    }
    pool_done(&p);
    return st;
}

static int pool_end(struct op *op, struct ending *d, const char *pool)
{
    const char **names = kit_zeroed(d->n_ids + 1, sizeof *names);
    bool any = false, again = true;
    for (size_t i = 0; i < d->n_ids && !any; i++)
        any = !d->settled[i] && id_of_pool(d->ids[i], pool);
    int st = DAVIT_OK;
    for (int i = 0; any && again && st == DAVIT_OK && i < TRIES_MAX; i++) {
        st = end_once(op, d, pool, names, &again);
        if (again && pool_wait(op))
            st = DAVIT_OK;
        op->error->retry_after_ms = st == DAVIT_OK ? 0
                                                   : op->error->retry_after_ms;
    }
    free(names);
    return st;
}

int aks_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e)
{
    struct op op;
    int worst = DAVIT_OK;
    op_begin(&op, self, call, e);
    struct ending d = {.ids = ids,
                       .n_ids = n_ids,
                       .sink = sink,
                       .done = done,
                       .settled = kit_zeroed(n_ids, sizeof(bool))};
    const char *pool;
    for (size_t i = 0; (pool = memory_pool(op.aks, i)); i++) {
        struct davit_error mine = {.size = sizeof mine};
        op.error = &mine;
        int st = pool_end(&op, &d, pool);
        if (st != DAVIT_OK && worst == DAVIT_OK) {
            worst = st;
            memcpy(e->code, mine.code, sizeof e->code);
            memcpy(e->text, mine.text, sizeof e->text);
            e->retry_after_ms = mine.retry_after_ms;
        }
    }
    for (size_t i = 0; i < n_ids; i++) {
        bool ours = d.settled[i];
        for (size_t k = 0; !ours && (pool = memory_pool(op.aks, k)); k++)
            ours = id_of_pool(ids[i], pool);
        if (!ours)
            settle(&d, i, DAVIT_NOT_FOUND);
    }
    free(d.settled);
    op_end(&op);
    return worst;
}
