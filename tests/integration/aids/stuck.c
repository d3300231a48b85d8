/*
 * stuck.c - a provider whose operations hang as long as a test likes.
 *
 * The file `hang` holds the names of the operations that hang now ("list",
 * "launch"); they ignore every deadline.  `hang`.list and so on appear when one
 * begins to hang.  A launch gives running machines with
 * the ids <prefix><request id>-<n>, kept in memory and, when there is a
 * `store`, in that file.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider.h"

struct machine {
    char id[128], request[48], type[64];
    bool gone;
};

static struct machine machines[1000];
static size_t n_machines;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char hang_file[256], prefix[80], store[256];

static bool hangs(const char *op)
{
    char text[256] = "";
    FILE *f = fopen(hang_file, "r");

    if (!f)
        return false;
    if (!fgets(text, sizeof text, f))
        text[0] = '\0';
    fclose(f);
    return strstr(text, op);
}

static void wait_out(const char *op)
{
    char told[300];
    FILE *f;

    if (!hangs(op))
        return;
    snprintf(told, sizeof told, "%s.%s", hang_file, op);
    f = fopen(told, "w");
    if (f)
        fclose(f);
    while (hangs(op)) /* wait: it hangs until the test lets it go */
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void save(void)
{
    FILE *f = *store ? fopen(store, "w") : NULL;

    if (!f)
        return;
    fwrite(machines, sizeof *machines, n_machines, f);
    fclose(f);
}

static void load(void)
{
    FILE *f = *store && !n_machines ? fopen(store, "r") : NULL;

    if (!f)
        return;
    n_machines = fread(machines, sizeof *machines, 1000, f);
    fclose(f);
}

static int stuck_open(const struct davit_host *h, const struct davit_setup *s,
                      void **self, struct davit_error *e)
{
    (void)h, (void)e;
    for (size_t i = 0; i < s->n_options; i++) {
        if (strcmp(s->options[i].key, "hang") == 0)
            snprintf(hang_file, sizeof hang_file, "%s", s->options[i].value);
        if (strcmp(s->options[i].key, "prefix") == 0)
            snprintf(prefix, sizeof prefix, "%s", s->options[i].value);
        if (strcmp(s->options[i].key, "store") == 0)
            snprintf(store, sizeof store, "%s", s->options[i].value);
    }
    load();
    *self = machines;
    return DAVIT_OK;
}

static void stuck_close(void *self)
{
    (void)self;
    wait_out("close");
}

static void show(const struct machine *m, struct davit_sink *s,
                 void (*put)(struct davit_sink *, const struct davit_machine *))
{
    struct davit_machine d = {.size = sizeof d,
                              .id = m->id,
                              .request_id = m->request,
                              .offer = m->type,
                              .zone = "",
                              .address = "",
                              .detail = "",
                              .phase = DAVIT_RUNNING};
    put(s, &d);
}

static int stuck_list(void *self, struct davit_call *c, struct davit_sink *s,
                      void (*put)(struct davit_sink *,
                                  const struct davit_machine *),
                      struct davit_error *e)
{
    (void)self, (void)c, (void)e;
    wait_out("list");
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_machines; i++)
        if (!machines[i].gone)
            show(&machines[i], s, put);
    pthread_mutex_unlock(&lock);
    return DAVIT_OK;
}

static int stuck_launch(void *self, struct davit_call *c,
                        const struct davit_launch *l, struct davit_sink *s,
                        void (*put)(struct davit_sink *,
                                    const struct davit_machine *),
                        struct davit_error *e)
{
    (void)self, (void)c, (void)e;
    wait_out("launch");
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < l->count && n_machines < 1000; i++) {
        struct machine *m = &machines[n_machines++];
        snprintf(m->id, sizeof m->id, "%s%s-%u", prefix, l->request_id, i);
        snprintf(m->request, sizeof m->request, "%s", l->request_id);
        snprintf(m->type, sizeof m->type, "%s", l->offer);
        show(m, s, put);
    }
    save();
    pthread_mutex_unlock(&lock);
    return DAVIT_OK;
}

static int stuck_terminate(void *self, struct davit_call *c,
                           const char *const *ids, size_t n,
                           struct davit_sink *s,
                           void (*done)(struct davit_sink *, const char *, int),
                           struct davit_error *e)
{
    (void)self, (void)c, (void)s, (void)done, (void)e;
    wait_out("terminate");
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n_machines; i++)
            if (strcmp(machines[i].id, ids[k]) == 0)
                machines[i].gone = true;
    save();
    pthread_mutex_unlock(&lock);
    return DAVIT_OK;
}

static const struct davit_kv options[] = {
    {"hang", "the file that names what hangs"},
    {"prefix", "of ids"},
    {"store", "a file"},
    {0}};
static const struct davit_provider table = {.size = sizeof table,
                                            .name = "stuck",
                                            .version = "1",
                                            .options = options,
                                            .open = stuck_open,
                                            .close = stuck_close,
                                            .list = stuck_list,
                                            .launch = stuck_launch,
                                            .terminate = stuck_terminate};

const struct davit_provider *davit_provider_v1(void)
{
    return &table;
}
