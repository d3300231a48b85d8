/*
 * cmd_run.c - the daemon.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../api/server.h"
#include "../api/standby.h"
#include "../base/log.h"
#include "cli.h"

static void waits_told(void *arg, const char *text)
{
    standby_says(arg, text);
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
    ha_lead(*ret, waits_told, standby);
    standby_stop(standby);
    return ST_OK;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"dry-run", no_argument, NULL, 'n'},
        {"record", required_argument, NULL, 'r'},
        {"record-http", required_argument, NULL, 'H'},
        {"replay-http", required_argument, NULL, 'R'},
        {"log-json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {0}};
    struct control_opts o = {.config_path = "davit.yaml"};
    enum log_level level = LOG_INFO;
    bool json = false;
    struct control *control;
    struct server *server;
    struct config *conf;
    struct buf errors;
    struct err err;
    int opt, rc;

    while ((opt = getopt_long(argc, argv, "c:nv", options, NULL)) != -1) {
        switch (opt) {
        case 'c': o.config_path = optarg; break;
        case 'n': o.dry_run = true; break;
        case 'r': o.record_dir = optarg; break;
        case 'H': o.record_http_dir = optarg; break;
        case 'R': o.replay_http_dir = optarg; break;
        case 'j': json = true; break;
        case 'v': level = LOG_DEBUG; break;
        default: return cli_usage(&cli_run, "see above");
        }
    }
    if (o.record_http_dir && o.replay_http_dir)
        return cli_usage(&cli_run, "HTTP is recorded or replayed, not both");
    if (optind < argc)
        o.config_path = argv[optind];
    log_setup(level, json);
    /* A peer that hangs up, or nobody reading the log, is no reason to end. */
    signal(SIGPIPE, SIG_IGN);
    buf_init(&errors, 1 << 20);
    if (config_load(o.config_path, &conf, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        buf_done(&errors);
        return EXIT_INPUT;
    }
    for (uint32_t i = 0; i < conf->n_warnings; i++)
        log_warn("%s", conf->warnings[i]);
    if (lead(conf, &o.ha, &err) != ST_OK) {
        fprintf(stderr, "%s: %s\n", o.config_path, err.text);
        return EXIT_INPUT;
    }
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
    log_info("listening on %s:%u", conf->api_host, server_port(server));
    rc = control_run(control);
    server_stop(server);
    control_free(control);
    ha_close(o.ha);
    return rc;
}

const struct cli_command cli_run = {
    "run", "[--config FILE] [--dry-run] [--record DIR] [FILE]",
    "runs the daemon", run,
    "  --config FILE   settings (default davit.yaml); a Ray cluster YAML, a\n"
    "                  podTypes list and a RayCluster manifest are read too\n"
    "  --dry-run       plans and tells, but never launches or ends anything\n"
    "  --record DIR    keeps every plan that asks for something as a file there,\n"
    "                  with all it was made from, for `davit plan`: the newest\n"
    "                  1,000 and 256 MiB\n"
    "  --record-http DIR\n"
    "                  keeps what providers ask their clouds, and the answers,\n"
    "                  without secrets, in DIR/PROVIDER.jsonl\n"
    "  --replay-http DIR\n"
    "                  asks no cloud: answers come from such a recording\n"
    "  --log-json      log lines as JSON\n"
    "  --verbose       more of them\n\n"
    "SIGHUP or a change of the file reloads it; SIGTERM stops the daemon and\n"
    "leaves every machine as it is.\n"};
