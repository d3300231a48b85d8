/*
 * cmd_doctor.c - is everything there that the daemon needs?  Looks, never
 * changes anything, and says what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/exposed.h"
#include "../../base/outfile.h"
#include "../../cloud/offer_check.h"
#include "../../control/configuration.h"
#include "../../wire/ray/ray.h"
#include "../ask.h"
#include "../cli.h"
#include "../kuberay.h"
#include "doctor.h"

enum { PATIENCE_MS = 20000 };

void finding_add(struct checkup *c, enum finding f, const char *what,
                 const char *fmt, ...)
{
    static const char *const words[] = {"ok", "warn", "bad"};
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->n[f]++;
    if (c->json)
        json_array_append_new(
            c->json, json_pack("{s:s,s:s,s:s}", "finding", words[f], "what",
                               what, "text", text));
    else
        printf("%-5s %s: %s\n", words[f], what, text);
}

/* ---- plug-ins and credentials: one list call shows whether they work */

static void type_differs(void *arg, const char *type, const char *text)
{
    char what[64];

    snprintf(what, sizeof what, "node type %.50s", type);
    finding_add(arg, FINDING_WARN, what, "%s", text);
}

/* Is what could be bought what the configuration says it is? */
static void offers_look(struct checkup *c, struct provider *p)
{
    struct call *call = ask_provider(p, CALL_OFFERS, PATIENCE_MS);
    struct arena arena = {0};

    if (!call) {
        finding_add(c, FINDING_WARN, "offers",
                    "provider %.40s: they do not come within %d s",
                    provider_name(p), PATIENCE_MS / 1000);
        return;
    }
    for (uint32_t i = 0; i < call->offers.n; i++) {
        const struct call_offer *o = &call->offers.v[i];

        if (*o->note)
            type_differs(c, o->type,
                         arena_printf(&arena, "%s%s%s%s",
                                      o->available ? "" : "not offered now: ",
                                      o->zone, *o->zone ? ": " : "", o->note));
    }
    if (call->status == ST_OK)
        offers_check(c->conf, provider_name(p), call->offers.v, call->offers.n,
                     &arena, type_differs, c);
    else if (call->status != ST_UNSUPPORTED)
        finding_add(c, FINDING_WARN, "offers", "provider %.40s: %s: %s",
                    provider_name(p), status_name(call->status),
                    call->err.text);
    arena_done(&arena);
    call_free(call);
}

static void provider_check(struct checkup *c, const struct conf_provider *conf)
{
    struct provider *p;
    struct buf errors;
    struct call *call;
    char what[64];

    snprintf(what, sizeof what, "provider %.40s", conf->name);
    buf_init(&errors, 1 << 20);
    if (provider_open(c->conf, conf, &p, &errors) != ST_OK) {
        errors.s[strcspn(errors.s, "\n")] = '\0';
        finding_add(c, FINDING_BAD, what, "%s", errors.s);
        buf_done(&errors);
        return;
    }
    buf_done(&errors);
    call = ask_provider(p, CALL_LIST, PATIENCE_MS);
    if (!call) {
        finding_add(c, FINDING_BAD, what,
                    "its list does not come back within %d s",
                    PATIENCE_MS / 1000);
        return;
    }
    if (call->status == ST_OK)
        finding_add(c, FINDING_OK, what,
                    "%s %s lists %u machines of ours in %lld ms",
                    provider_plugin(p).name, provider_plugin(p).version,
                    call->machines.n, (long long)call->took_ms);
    else
        finding_add(c, FINDING_BAD, what, "%s: %s (%s)",
                    status_name(call->status), call->err.text,
                    call->status == ST_AUTH
                        ? "see Credentials in the plug-in's README"
                        : "its list failed");
    /* What cannot be listed says the same again. */
    if (call->status == ST_OK && provider_caps(p) & DAVIT_CAP_OFFERS)
        offers_look(c, p);
    call_free(call);
    provider_close(p);
}

/* ---- the Ray head */

static void ray_check(struct checkup *c)
{
    struct ray_head *h;
    struct source_view *view = NULL;
    struct err err;

    if (!*c->conf->ray_address)
        return;
    h = ray_head_new(c->conf->ray_address, c->conf->ray_token_file);
    if (ray_head_read(h, clock_mono_ms() + PATIENCE_MS, &view, &err) != ST_OK)
        finding_add(c, FINDING_BAD, "Ray head", "%s%s", err.text,
                    err.status == ST_AUTH
                        ? "; set head.ray.token_file or RAY_AUTH_TOKEN_PATH"
                        : "");
    else if (!view->v2)
        finding_add(
            c, FINDING_BAD, "Ray head",
            "it was started without RAY_enable_autoscaler_v2=1: it keeps no "
            "request_resources for us, and `ray status` stays empty; start it "
            "with that set and --autoscaling-config left out");
    else
        finding_add(c, FINDING_OK, "Ray head",
                    "%s answers, session %s, %u nodes, token accepted",
                    c->conf->ray_address, view->session, view->n_nodes);
    ray_head_free(h);
    source_view_unref(view);
}

/* ---- this machine */

/* Is there room?  The disk is asked, as other programs' quotas and limits are not
 * seen in its figures. */
static bool takes_bytes(const char *journal, struct err *err)
{
    static const char page[4096];
    char path[4096 + 8];
    bool good;
    int fd;

    snprintf(path, sizeof path, "%.4095s.probe", journal);
    fd = outfile_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600, err);
    if (fd < 0)
        return false;
    good = outfile_put(fd, page, sizeof page) && fsync(fd) == 0;
    if (!good)
        err_set(err, ST_RETRY, "%s: %s", path, strerror(errno));
    close(fd);
    unlink(path);
    return good;
}

static void state_check(struct checkup *c)
{
    struct arena arena = {0};
    const char *path, *slash;
    char dir[4096];
    const char *elsewhere;
    struct err err;

    if (c->conf->ha)
        return;
    if (config_journal_path(c->conf, &arena, &path, &elsewhere, &err) !=
        ST_OK) {
        finding_add(c, FINDING_BAD, "state", "%s", err.text);
        arena_done(&arena);
        return;
    }
    slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (access(dir, W_OK | X_OK) != 0)
        finding_add(
            c, FINDING_BAD, "state",
            "%s cannot be written: %s; state: needs a folder that exists and "
            "may be written",
            dir, strerror(errno));
    else if (access(path, F_OK) == 0 && access(path, R_OK | W_OK) != 0)
        finding_add(c, FINDING_BAD, "state", "%s: %s", path, strerror(errno));
    else if (!takes_bytes(path, &err))
        finding_add(c, FINDING_BAD, "state",
                    "nothing can be written beside the journal, so nothing "
                    "would be launched, ended or promised: %s",
                    err.text);
    else if (*elsewhere)
        finding_add(c, FINDING_WARN, "state",
                    "%s in the working directory is used, since %s; write its "
                    "whole path",
                    path, elsewhere);
    else
        finding_add(c, FINDING_OK, "state", "%s", path);
    arena_done(&arena);
}

static bool somebody_listens(const struct config *conf)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV},
                    *list;
    char port[16];
    bool yes = false;

    snprintf(port, sizeof port, "%u", conf->api_port);
    if (!conf->api_port || getaddrinfo(conf->api_host, port, &hints, &list))
        return false;
    for (const struct addrinfo *a = list; a && !yes; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);

        yes = fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0;
        if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(list);
    return yes;
}

static void api_check(struct checkup *c)
{
    if (!*c->conf->api_host)
        finding_add(c, FINDING_OK, "api", "api.socket only: %s",
                    c->conf->api_socket);
    else if (somebody_listens(c->conf))
        finding_add(
            c, FINDING_WARN, "api",
            "somebody listens on %s:%u: this daemon, running already, or "
            "another program",
            c->conf->api_host, c->conf->api_port);
    else
        finding_add(c, FINDING_OK, "api", "%s:%u is free", c->conf->api_host,
                    c->conf->api_port);
}

static void config_check(struct checkup *c)
{
    for (uint32_t i = 0; i < c->conf->n_warnings; i++)
        finding_add(c, FINDING_WARN, "configuration", "%s",
                    c->conf->warnings[i]);
    finding_add(
        c, c->conf->n_types ? FINDING_OK : FINDING_WARN, "configuration",
        "%s: cluster %s, %u node type%s, %u provider%s", c->conf->path,
        c->conf->cluster, c->conf->n_types, c->conf->n_types == 1 ? "" : "s",
        c->conf->n_providers, c->conf->n_providers == 1 ? "" : "s");
}

/* ---- */

static struct {
    const char *config, *file, *kuberay, *kubeconfig, *context, *settings;
    bool json;
} args = {.config = "davit.yaml", .settings = ""};

/* NAMESPACE/NAME in place of a file. */
static struct config *raycluster_load(struct checkup *c,
                                      struct config_source **source)
{
    const char *which = args.kuberay, *slash = strchr(which, '/');
    static char space[256];
    struct kuberay_opts k = {
        .space = space,
        .name = slash ? slash + 1 : which,
        .kubeconfig = args.kubeconfig ? args.kubeconfig : "",
        .context = args.context ? args.context : "",
        .ray_address = "",
        .state = "",
        .listen = "",
        .metrics = "",
        .settings = args.settings};
    struct config *conf;
    struct err err;

    snprintf(space, sizeof space, "%.*s", slash ? (int)(slash - which) : 0,
             which);
    c->space = space;
    if (kuberay_config(&k, source, &conf, &err))
        return conf;
    fprintf(stderr, "%s\n", err.text);
    return NULL;
}

/* What the checks before it have read. */
static void exposed_check(struct checkup *c)
{
    const char *texts[EXPOSED_MAX];
    struct arena a = {0};
    uint32_t n;

    if (!args.kuberay)
        configuration_exposed(c->conf);
    n = exposed_list(&a, texts);
    for (uint32_t i = 0; i < n; i++)
        finding_add(c, FINDING_WARN, "secrets", "%s", texts[i]);
    arena_done(&a);
}

static void checks(struct checkup *c)
{
    config_check(c);
    state_check(c);
    api_check(c);
    doctor_api(c);
    ray_check(c);
    doctor_kube(c);
    for (uint32_t i = 0; i < c->conf->n_providers; i++)
        provider_check(c, &c->conf->providers[i]);
    exposed_check(c);
}

static int run(void)
{
    const char *path = args.file ? args.file : args.config;
    struct config_source *source = NULL;
    struct checkup c = {.json = args.json ? json_array() : NULL,
                        .kubeconfig = args.kubeconfig ? args.kubeconfig : "",
                        .context = args.context ? args.context : ""};
    struct config *conf;

    conf = args.kuberay ? raycluster_load(&c, &source) : cli_config(path);
    if (!conf) {
        json_decref(c.json);
        return EXIT_INPUT;
    }
    c.conf = conf;
    buf_init(&c.hints, 1 << 20);
    checks(&c);
    if (c.json) {
        json_t *all = json_pack("{s:o,s:s}", "findings", c.json, "advice",
                                c.hints.s);

        cli_json(all);
        json_decref(all);
    } else {
        if (c.hints.n)
            printf("\n%s", c.hints.s);
        printf("%u ok, %u warning%s, %u bad\n", c.n[FINDING_OK],
               c.n[FINDING_WARN], c.n[FINDING_WARN] == 1 ? "" : "s",
               c.n[FINDING_BAD]);
    }
    buf_done(&c.hints);
    config_free(conf);
    config_source_free(source);
    return c.n[FINDING_BAD] ? EXIT_NO : EXIT_OK;
}

static const struct cli_option options[] = {
    {"config", 'c', .text = &args.config, .takes = TAKES_FILE,
     .help = "the daemon's settings (default davit.yaml)"},
    {"kuberay", 0, "[NAMESPACE/]NAME", .text = &args.kuberay,
     .help = "a RayCluster in place of a file, as the sidecar reads it"},
    {"kubeconfig", .text = &args.kubeconfig, .takes = TAKES_FILE,
     .help = "how to reach its API server"},
    {"context", 0, "NAME", .text = &args.context,
     .help = "which context of the kubeconfig"},
    {"settings", .text = &args.settings, .takes = TAKES_FILE,
     .help = "what else who runs davit says: as for `davit run`"},
    {"json", 'j', .flag = &args.json, .help = "for programs"},
    {0}};

static const struct cli_option words[] = {
    {"FILE", .text = &args.file, .takes = TAKES_FILE, .optional = true,
     .help = "the same as --config FILE"},
    {0}};

const struct cli_command cli_doctor = {
    .name = "doctor",
    .help = "checks what the daemon needs: head, rights, credentials, clock",
    .options = options,
    .words = words,
    .run = run,
    .details =
        "Reads only: the configuration, the Ray head with its token, the API "
        "server with every right that the configuration needs (what is "
        "missing is printed as a Role to apply), the clock, one list call of "
        "each provider, and GPU nodes' pods that would see GPUs they did not "
        "ask for. The exit code is 1 when something is bad.\n"};
