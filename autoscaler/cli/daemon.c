/*
 * daemon.c - see daemon.h.
 */
#include "daemon.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "../api/server.h"
#include "../api/standby.h"
#include "../base/ending.h"
#include "../base/hash.h"
#include "../control/shadow/shadow.h"
#include "cli.h"
#include "farewell.h"
#include "loop.h"

enum { GOODBYE_MS = 1000 };

/* For the last lines of the log. */
static void log_leaves(void)
{
    log_stop(GOODBYE_MS);
}

void daemon_prepare(enum log_level level, bool json)
{
    /* A list of a thousand pods is megabytes for a moment, on any of the
     * workers: not to be kept by each thread for good. */
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    hash_key_random();
    log_setup(level, json);
    log_start(NULL);
    atexit(log_leaves);
    farewell_begin();
    /* A peer that hangs up, or nobody reading the log, is no reason to end. */
    signal(SIGPIPE, SIG_IGN);
    /* Nor is a file as large as it may be: the journal says so, as of a full
     * disk. */
    signal(SIGXFSZ, SIG_IGN);
    /* A standby reads the file when it leads; the loop takes this over. */
    signal(SIGHUP, SIG_IGN);
}

static void waiting_report(void *arg, const char *text)
{
    standby_report(arg, text);
    log_info("%s", text);
}

/* With state: kubernetes: returns once this daemon leads. */
static enum status lead(const struct config *conf, struct ha **ret,
                        struct err *err)
{
    struct standby *standby;
    enum status s = ha_open(conf, ret, err);

    if (s != ST_OK || !*ret)
        return s;
    s = standby_start(conf, &standby, err);
    if (s != ST_OK)
        return s;
    ha_lead(*ret, waiting_report, standby);
    standby_stop(standby);
    return ST_OK;
}

static int run(struct control_opts o, struct config *conf)
{
    struct control *control;
    struct server *server;
    struct buf errors;
    struct err err;

    for (uint32_t i = 0; i < conf->n_warnings; i++)
        log_warn("%s", conf->warnings[i]);
    if (lead(conf, &o.ha, &err) != ST_OK) {
        fprintf(stderr, "%s: %s\n", o.config_path, err.text);
        config_free(conf);
        return EXIT_INPUT;
    }
    buf_init(&errors, 1 << 20);
    if (control_new(&o, conf, &control, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        buf_done(&errors);
        ha_close(o.ha);
        return EXIT_INPUT;
    }
    buf_done(&errors);
    if (server_start(conf, control, &server, &err) != ST_OK) {
        fprintf(stderr, "%s: api: %s\n", o.config_path, err.text);
        control_free(control);
        ha_close(o.ha);
        return EXIT_INPUT;
    }
    if (*conf->api_host)
        log_info("listening on %s:%u", conf->api_host, server_port(server));
    if (*conf->api_socket)
        log_info("listening at %s", conf->api_socket);
    if (*conf->metrics_host)
        log_info("metrics on %s:%u", conf->metrics_host,
                 server_metrics_port(server));
    loop_run(control, o.source ? NULL : o.config_path);
    ending_begin();
    server_stop(server);
    control_free(control);
    ha_close(o.ha);
    ending_waits("the end of the process");
    return EXIT_OK;
}

int daemon_run(const struct control_opts *opts, struct config *conf)
{
    struct control_opts o = *opts;
    int rc;

    if (o.shadow_boot_ms) {
        o.shadow = shadow_new(o.shadow_boot_ms);
        shadow_config(o.shadow, conf);
    }
    rc = run(o, conf);
    shadow_free(o.shadow);
    return rc;
}
