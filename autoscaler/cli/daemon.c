/*
 * daemon.c - see daemon.h.
 */
#include "daemon.h"

#include <signal.h>
#include <stdio.h>

#include "../api/server.h"
#include "cli.h"

void daemon_prepare(enum log_level level, bool json)
{
    log_setup(level, json);
    /* A peer that hangs up, or nobody reading the log, is no reason to end. */
    signal(SIGPIPE, SIG_IGN);
}

int daemon_run(const struct control_opts *o, struct config *conf)
{
    struct control *control;
    struct server *server;
    struct buf errors;
    struct err err;
    int rc;

    for (uint32_t i = 0; i < conf->n_warnings; i++)
        log_warn("%s", conf->warnings[i]);
    buf_init(&errors, 1 << 20);
    if (control_new(o, conf, &control, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        buf_done(&errors);
        return EXIT_INPUT;
    }
    buf_done(&errors);
    if (server_start(conf, control, &server, &err) != ST_OK) {
        fprintf(stderr, "%s: api: %s\n", o->config_path, err.text);
        control_free(control);
        return EXIT_INPUT;
    }
    log_info("listening on %s:%u", conf->api_host, server_port(server));
    if (*conf->metrics_host)
        log_info("metrics on %s:%u", conf->metrics_host,
                 server_metrics_port(server));
    rc = control_run(control);
    server_stop(server);
    control_free(control);
    return rc;
}
