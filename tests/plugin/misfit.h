/*
 * misfit.h - the harmless rest of a test plug-in that misbehaves in one way:
 * define what is to be wrong, leave the rest to these.
 */
#ifndef MISFIT_H
#define MISFIT_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

typedef void put_machine(struct davit_sink *, const struct davit_machine *);
typedef void put_done(struct davit_sink *, const char *, int);
typedef void put_offer(struct davit_sink *, const struct davit_offer *);

struct misfit {
    const struct davit_host *host;
    char how[64];   /* option "how" */
    char arg[1024]; /* option "arg" */
};

static inline const char *option(const struct davit_setup *s, const char *key)
{
    for (size_t i = 0; i < s->n_options; i++)
        if (strcmp(s->options[i].key, key) == 0)
            return s->options[i].value;
    return "";
}

static inline int misfit_open(const struct davit_host *h,
                              const struct davit_setup *s, void **ret,
                              struct davit_error *e)
{
    (void)e;
    struct misfit *m = calloc(1, sizeof *m);
    if (!m)
        return DAVIT_RETRY;
    m->host = h;
    snprintf(m->how, sizeof m->how, "%s", option(s, "how"));
    snprintf(m->arg, sizeof m->arg, "%s", option(s, "arg"));
    *ret = m;
    return DAVIT_OK;
}

static inline void misfit_close(void *self)
{
    free(self);
}

static inline int misfit_list(void *self, struct davit_call *c,
                              struct davit_sink *s, put_machine *put,
                              struct davit_error *e)
{
    (void)self, (void)c, (void)s, (void)put, (void)e;
    return DAVIT_OK;
}

static inline int misfit_launch(void *self, struct davit_call *c,
                                const struct davit_launch *l,
                                struct davit_sink *s, put_machine *put,
                                struct davit_error *e)
{
    (void)self, (void)c, (void)l, (void)s, (void)put, (void)e;
    return DAVIT_OK;
}

static inline int misfit_terminate(void *self, struct davit_call *c,
                                   const char *const *ids, size_t n,
                                   struct davit_sink *s, put_done *done,
                                   struct davit_error *e)
{
    (void)self, (void)c, (void)ids, (void)n, (void)s, (void)done, (void)e;
    return DAVIT_OK;
}

static const struct davit_kv misfit_options[] = {
    {"how", "in which way to misbehave"},
    {"arg", "its argument"},
    {NULL, NULL}};

#endif
