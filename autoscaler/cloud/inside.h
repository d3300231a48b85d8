/*
 * inside.h - what the files of this room share, and nobody else may see.
 *
 * loader.c finds and checks a .so (elf_file.c, trust.c), provider.c opens a handle on it, call.c runs
 * an operation on a worker, sink.c copies and judges what it hands back, host.c
 * is what the plug-in may ask of us meanwhile.
 */
#ifndef CLOUD_INSIDE_H
#define CLOUD_INSIDE_H

#include <pthread.h>

#include "../base/buf.h"
#include "../wire/http.h"
#include "cloud.h"
#include "traffic.h"

/* A plug-in returns by its deadline; only after this much more is it stuck. */
#define CALL_GRACE_MS 2000
#define IDLE_CLIENTS 8

struct provider {
    struct arena arena;
    const char *name, *path, *cluster;
    const char *place;   /* see provider_place() */
    uint64_t settings;   /* hash: see provider_same() */
    const char *ca_file; /* of its HTTP; NULL: the system's */
    const struct davit_provider *table;
    void *self;
    atomic_ullong caps;
    atomic_bool no_find; /* its find() said UNSUPPORTED */
    atomic_uint calls;   /* call_new() to call_free() */
    const char **types;  /* names, as given to open() */
    uint32_t n_types;
    pthread_mutex_t lock; /* of the idle HTTP clients only */
    struct http_client *idle[IDLE_CLIENTS];
    uint32_t n_idle;
    provider_tap *tap;
    void *tap_arg;
    struct traffic_line *line; /* NULL: nobody counts */
};

/* loader.c */
#define PLUGIN_DIRS 5
uint32_t plugin_dirs(const char *dir, struct arena *a,
                     const char *ret_dirs[PLUGIN_DIRS]);
const struct davit_provider *plugin_builtin_find(const char *name); /* or NULL */
enum status plugin_load(const char *path, const struct davit_provider **ret,
                        struct err *err);

/* trust.c: may code of this open file run here?  path is for messages. */
enum status plugin_trust(int fd, const char *path, struct err *err);

/* host.c: one running operation, as the plug-in holds it. */
struct davit_call {
    struct provider *provider;
    struct call *call;
    const atomic_bool *cancel;
    int64_t deadline_mono_ms;
    struct arena replies; /* HTTP answers, until the operation returns */
    struct arena brief;   /* the last one, when that is enough */
    size_t reply_bytes;
    struct http_client *client;
    uint32_t lines; /* logged so far */
    const char *op; /* "launch" */
    struct recording_call recorded;
};
extern const struct davit_host host_services;
void host_enter(struct davit_call *dc); /* this thread is in a plug-in now */
void host_leave(struct davit_call *dc);

/* sink.c */
struct davit_sink {
    struct call *call;
    pthread_t thread;
    atomic_bool other_thread; /* put() came from another thread */
    size_t bytes;
    struct buf text;   /* of a console, up to CONSOLE_MAX */
    struct err broken; /* the first nonsense, or OK */
};
void sink_init(struct davit_sink *s, struct call *c);
void sink_put_machine(struct davit_sink *s, const struct davit_machine *m);
void sink_put_offer(struct davit_sink *s, const struct davit_offer *o);
void sink_put_done(struct davit_sink *s, const char *id, int status);
#define CONSOLE_MAX ((size_t)2 << 20) /* more is not taken */
void sink_put_text(struct davit_sink *s, const char *text, size_t n);
/* Drops machines put twice (a page boundary moved): the later one holds. */
void sink_settle(struct davit_sink *s);

/* True for 0..max bytes of UTF-8 without control characters. */
bool plugin_text_ok(const char *s, size_t max);
/* A copy that is: bad bytes become '?', line ends a space, the rest is cut. */
void plugin_text_clean(const char *s, size_t n, char *ret, size_t size);

#endif
