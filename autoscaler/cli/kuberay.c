/*
 * kuberay.c - see kuberay.h.
 *
 * What a RayCluster does not contain (the head's address, ports, the journal) is
 * made here as a davit: block, and --settings FILE goes over it.  Both are the
 * word of who runs davit; the RayCluster's annotation davit.io/config, which its
 * editors write, may say limits and queues only.
 */
#include "kuberay.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/clock.h"
#include "../control/config_source.h"
#include "cli.h"
#include "daemon.h"

enum { AGAIN_MS = 5000, READ_MS = 20000 };

static void put(json_t *block, const char *a, const char *b, const char *value)
{
    json_t *in = json_object_get(block, a);

    if (!*value)
        return;
    if (!in) {
        in = json_object();
        json_object_set_new(block, a, in);
    }
    json_object_set_new(in, b, json_string(value));
}

static enum status block_of(const struct kuberay_opts *k, json_t **ret,
                            struct err *err)
{
    json_t *block = json_object(), *more = NULL;
    enum status st = ST_OK;
    char address[600];

    *ret = NULL;
    snprintf(address, sizeof address, "%s", k->ray_address);
    if (!*address && *k->space)
        snprintf(address, sizeof address, "%.253s-head-svc.%.253s.svc:6379",
                 k->name, k->space);
    if (*address)
        json_object_set_new(block, "head",
                            json_pack("{s:{s:s}}", "ray", "address", address));
    put(block, "api", "listen", k->listen);
    put(block, "api", "metrics", k->metrics);
    if (*k->state)
        json_object_set_new(block, "state", json_string(k->state));
    if (k->settings && *k->settings)
        st = config_source_settings(k->settings, &more, err);
    if (more)
        json_object_update_recursive(block, more);
    json_decref(more);
    if (st == ST_OK)
        *ret = block;
    else
        json_decref(block);
    return st;
}

static enum status source_of(const struct kuberay_opts *k,
                             struct config_source **ret, struct err *err)
{
    struct config_source_opts o = {k->space, k->name, k->kubeconfig, k->context,
                                   NULL};
    json_t *block;
    enum status st = block_of(k, &block, err);

    *ret = NULL;
    o.block = block;
    if (st == ST_OK)
        st = config_source_new(&o, ret, err);
    json_decref(block);
    return st;
}

/* Everything but running: settings in *ret; false after a report. */
static bool settings_read(struct config_source *s, struct config **ret)
{
    struct buf errors;
    struct err err;
    bool changed;
    enum status st = config_source_read(s, clock_mono_ms() + READ_MS, &changed,
                                        &err);

    if (st != ST_OK) {
        log_error("%s: %s", config_source_title(s), err.text);
        return false;
    }
    buf_init(&errors, 1 << 20);
    st = config_source_parse(s, ret, &errors);
    if (st != ST_OK)
        log_error("%s", errors.s);
    buf_done(&errors);
    return st == ST_OK;
}

bool kuberay_config(const struct kuberay_opts *k, struct config_source **source,
                    struct config **ret, struct err *err)
{
    struct buf errors;
    bool changed;
    enum status st = source_of(k, source, err);

    buf_init(&errors, 1 << 20);
    if (st == ST_OK)
        st = config_source_read(*source, clock_mono_ms() + READ_MS, &changed,
                                err);
    if (st == ST_OK &&
        (st = config_source_parse(*source, ret, &errors)) != ST_OK)
        err_set(err, st, "%.*s", (int)strcspn(errors.s, "\n"), errors.s);
    buf_done(&errors);
    if (st != ST_OK) {
        config_source_free(*source);
        *source = NULL;
    }
    return st == ST_OK;
}

static void rest(void)
{
    nanosleep(&(struct timespec){AGAIN_MS / 1000, AGAIN_MS % 1000 * 1000000L},
              NULL);
}

int kuberay_run(struct control_opts *o, const struct kuberay_opts *k)
{
    struct config_source *source = NULL;
    struct config *conf;
    struct err err;
    int rc = EXIT_INPUT;

    for (;;) {
        if (!source && source_of(k, &source, &err) != ST_OK)
            log_error("%s", err.text);
        if (source && settings_read(source, &conf)) {
            o->source = source;
            o->config_path = config_source_title(source);
            rc = daemon_run(o, conf);
            if (rc == EXIT_OK || !k->sidecar)
                break;
        } else if (!k->sidecar) {
            break;
        }
        log_error("looking again in %d s", AGAIN_MS / 1000);
        rest();
    }
    config_source_free(source);
    return rc;
}
