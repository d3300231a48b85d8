/*
 * stamp.c - a provider for `make bench`: notes when launch() is entered.
 *
 * Each launch appends "<CLOCK_MONOTONIC ns> <type> <count> <request id>" to the file of
 * its option `file`; its machines run at once.  "<file>.gone" has the indices of those
 * that were ended or lost.  Both are read again at a start.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider.h"

struct stamped {
    char request[64], type[64];
    bool gone;
};

struct stamp {
    char file[512];
    pthread_mutex_t lock;
    struct stamped *v; /* the machine with the id "m<index>" */
    size_t n, cap;
};

static void add(struct stamp *s, const char *request, const char *type,
                uint32_t count)
{
    if (s->n + count > s->cap) {
        s->cap = 2 * (s->n + count);
        s->v = realloc(s->v, s->cap * sizeof *s->v);
        if (!s->v)
            abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        struct stamped *m = &s->v[s->n++];

        *m = (struct stamped){.gone = false};
        snprintf(m->request, sizeof m->request, "%s", request);
        snprintf(m->type, sizeof m->type, "%s", type);
    }
}

static FILE *file_at(const struct stamp *s, const char *suffix,
                     const char *mode)
{
    char name[600];

    snprintf(name, sizeof name, "%s%s", s->file, suffix);
    return fopen(name, mode);
}

static void read_again(struct stamp *s)
{
    char type[64], request[64];
    unsigned count;
    size_t i;
    FILE *f = file_at(s, "", "r");

    while (f && fscanf(f, "%*s %63s %u %63s", type, &count, request) == 3)
        add(s, request, type, count);
    if (f)
        fclose(f);
    f = file_at(s, ".gone", "r");
    while (f && fscanf(f, "%zu", &i) == 1)
        if (i < s->n)
            s->v[i].gone = true;
    if (f)
        fclose(f);
}

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
    read_again(s);
    *ret = s;
    return DAVIT_OK;
}

static void stamp_close(void *self)
{
    struct stamp *s = self;

    free(s->v);
    free(s);
}

static void show(struct stamp *s, const char *request, size_t from,
                 struct davit_sink *sink,
                 void (*put)(struct davit_sink *, const struct davit_machine *))
{
    for (size_t i = from; i < s->n; i++) {
        char id[32];
        struct davit_machine m = {.size = sizeof m,
                                  .id = id,
                                  .request_id = s->v[i].request,
                                  .offer = s->v[i].type,
                                  .zone = "",
                                  .address = "",
                                  .phase = DAVIT_RUNNING};

        snprintf(id, sizeof id, "m%zu", i);
        if (!s->v[i].gone && (!request || strcmp(request, m.request_id) == 0))
            put(sink, &m);
    }
}

static void end(struct stamp *s, FILE *gone, size_t i)
{
    if (i >= s->n)
        return;
    s->v[i].gone = true;
    if (gone)
        fprintf(gone, "%zu\n", i);
}

/* "<file>.lose" holds the index of a machine that is not there any more. */
static void lose(struct stamp *s)
{
    size_t i;
    FILE *f = file_at(s, ".lose", "r"), *gone;
    char name[600];

    if (!f)
        return;
    if (fscanf(f, "%zu", &i) == 1 && (gone = file_at(s, ".gone", "a"))) {
        end(s, gone, i);
        fclose(gone);
    }
    fclose(f);
    snprintf(name, sizeof name, "%s.lose", s->file);
    remove(name);
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
    lose(s);
    show(s, NULL, 0, sink, put);
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
    if ((f = file_at(s, "", "a"))) {
        fprintf(f, "%lld %s %u %s\n",
                (long long)t.tv_sec * 1000000000LL + t.tv_nsec, l->offer,
                l->count, l->request_id);
        fclose(f);
    }
    size_t from = s->n;
    add(s, l->request_id, l->offer, l->count);
    show(s, l->request_id, from, sink, put);
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
    FILE *gone = file_at(s, ".gone", "a");
    for (size_t k = 0; k < n; k++)
        end(s, gone, strtoul(ids[k] + 1, NULL, 10));
    if (gone)
        fclose(gone);
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
