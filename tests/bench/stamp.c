/*
 * stamp.c - a provider for `make bench`: notes when launch() is entered.
 *
 * Each launch appends "<CLOCK_MONOTONIC ns> <type> <count>" to the file of its
 * option `file`; its machines run at once and are forgotten with the process.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider.h"

enum { MACHINES_MAX = 4096 };

struct stamp {
    char file[512];
    pthread_mutex_t lock;
    struct {
        char id[64], request[64], type[64];
    } v[MACHINES_MAX];
    size_t n;
};

static int stamp_open(const struct davit_host *host,
                      const struct davit_setup *setup, void **ret,
                      struct davit_error *e)
{
    struct stamp *s = calloc(1, sizeof *s);

    (void)host;
    (void)e;
    for (size_t i = 0; i < setup->n_options; i++)
        if (strcmp(setup->options[i].key, "file") == 0)
            snprintf(s->file, sizeof s->file, "%s", setup->options[i].value);
    pthread_mutex_init(&s->lock, NULL);
    *ret = s;
    return DAVIT_OK;
}

static void stamp_close(void *self)
{
    free(self);
}

static void show(struct stamp *s, const char *request, struct davit_sink *sink,
                 void (*put)(struct davit_sink *, const struct davit_machine *))
{
    for (size_t i = 0; i < s->n; i++) {
        struct davit_machine m = {.size = sizeof m,
                                  .id = s->v[i].id,
                                  .request_id = s->v[i].request,
                                  .offer = s->v[i].type,
                                  .zone = "",
                                  .address = "",
                                  .phase = DAVIT_RUNNING};
        if (!request || strcmp(request, m.request_id) == 0)
            put(sink, &m);
    }
}

static int stamp_list(void *self, struct davit_call *call,
                      struct davit_sink *sink,
                      void (*put)(struct davit_sink *,
                                  const struct davit_machine *),
                      struct davit_error *e)
{
    struct stamp *s = self;

    (void)call;
    (void)e;
    pthread_mutex_lock(&s->lock);
    show(s, NULL, sink, put);
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static int stamp_launch(void *self, struct davit_call *call,
                        const struct davit_launch *l, struct davit_sink *sink,
                        void (*put)(struct davit_sink *,
                                    const struct davit_machine *),
                        struct davit_error *e)
{
    struct stamp *s = self;
    struct timespec t;
    FILE *f;

    (void)call;
    (void)e;
    clock_gettime(CLOCK_MONOTONIC, &t);
    pthread_mutex_lock(&s->lock);
    if ((f = fopen(s->file, "a"))) {
        fprintf(f, "%lld %s %u\n",
                (long long)t.tv_sec * 1000000000LL + t.tv_nsec, l->offer,
                l->count);
        fclose(f);
    }
    for (uint32_t i = 0; i < l->count && s->n < MACHINES_MAX; i++, s->n++) {
        snprintf(s->v[s->n].id, 64, "%.40s-%u", l->request_id, i);
        snprintf(s->v[s->n].request, 64, "%s", l->request_id);
        snprintf(s->v[s->n].type, 64, "%s", l->offer);
    }
    show(s, l->request_id, sink, put);
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static int stamp_terminate(void *self, struct davit_call *call,
                           const char *const *ids, size_t n,
                           struct davit_sink *sink,
                           void (*done)(struct davit_sink *, const char *, int),
                           struct davit_error *e)
{
    struct stamp *s = self;

    (void)call;
    (void)sink;
    (void)done;
    (void)e;
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < s->n; i++)
            if (strcmp(s->v[i].id, ids[k]) == 0) {
                s->v[i] = s->v[--s->n];
                break;
            }
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static const struct davit_kv options[] = {{"file", "where launches are noted"},
                                          {0}};

static const struct davit_provider table = {.size = sizeof table,
                                            .name = "stamp",
                                            .version = "1",
                                            .options = options,
                                            .open = stamp_open,
                                            .close = stamp_close,
                                            .list = stamp_list,
                                            .launch = stamp_launch,
                                            .terminate = stamp_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
