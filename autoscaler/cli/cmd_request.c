/*
 * cmd_request.c - requests resources, and waits for them with --wait.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../codec/codec.h"
#include "table.h"
#include "watch.h"

/* A number, or the text as it is: the daemon says what is wrong with it. */
static json_t *amount_short(const char *text)
{
    char *end;
    double d = strtod(text, &end);

    if (end == text || *end || !isfinite(d))
        return json_string(text);
    return fabs(d) < 1e15 && d == floor(d) ? json_integer((json_int_t)d)
                                           : json_real(d);
}

/* "{"GPU":1}*2" or "GPU=1,accelerator_type=T4*2": a bundle and a count. */
static json_t *bundle_short(const char *text, size_t n, struct arena *a)
{
    json_t *o = json_object();
    char *copy = arena_strndup(a, text, n), *save = NULL;

    for (char *p = strtok_r(copy, ",", &save); p;
         p = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(p, '=');
        if (!eq || eq == p || !eq[1]) {
            json_decref(o);
            return NULL;
        }
        *eq++ = '\0';
        json_object_set_new(o, p,
                            strcmp(p, "accelerator_type") == 0
                                ? json_string(eq)
                                : amount_short(eq));
    }
    return o;
}

static json_t *bundle_read(const char *text, struct arena *a)
{
    static const char *const beside[] = {"accelerator_type", "labels"};
    const char *brace = *text == '{' ? strrchr(text, '}') : NULL;
    const char *star = strrchr(brace ? brace : text, '*');
    size_t n = star ? (size_t)(star - text) : strlen(text);
    long count = 1;
    json_t *flat, *out;
    struct err err;
    char *end;

    if (star) {
        errno = 0;
        count = strtol(star + 1, &end, 10);
        if (*end || end == star + 1 || errno || count < 1) {
            fprintf(stderr,
                    "davit: %s: after * a count of at least 1 is needed\n",
                    text);
            return NULL;
        }
    }
    if (*text == '{') {
        if (codec_parse(text, n, &flat, &err) != ST_OK) {
            fprintf(stderr, "davit: %s: %s\n", text, err.text);
            return NULL;
        }
    } else if (!(flat = bundle_short(text, n, a))) {
        fprintf(stderr,
                "davit: %s: a bundle is JSON like '{\"GPU\":1}' or "
                "GPU=1,accelerator_type=T4, then *COUNT if there are several\n",
                text);
        return NULL;
    }
    if (count == 1)
        return flat;
    if (json_object_get(flat, "resources") || json_object_get(flat, "any_of")) {
        json_object_set_new(flat, "count", json_integer(count));
        return flat;
    }
    out = json_pack("{sIso}", "count", (json_int_t)count, "resources",
                    json_incref(flat));
    for (size_t i = 0; i < 2; i++) {
        json_t *v = json_object_get(flat, beside[i]);

        if (v) {
            json_object_set(out, beside[i], v);
            json_object_del(flat, beside[i]);
        }
    }
    json_decref(flat);
    return out;
}

static void reply_print(const json_t *r, struct arena *a)
{
    static const char *const columns[] = {">COUNT", "TYPE", "PROVIDER", "ZONE",
                                          "MARKET", ">$/H", "WHY",      NULL};
    const json_t *v;
    struct table t;
    size_t i;

    printf("%s%s%s\n",
           colour(!flag_of(r, "feasible")   ? RED
                  : flag_of(r, "satisfied") ? GREEN
                                            : YELLOW),
           text_of(r, "text"), colour(PLAIN));
    if (json_array_size(json_object_get(r, "launches"))) {
        table_init(&t, a, columns);
        json_array_foreach(json_object_get(r, "launches"), i, v)
            table_row(
                &t, PLAIN,
                (const char *[]){
                    arena_printf(a, "%lld", (long long)count_of(v, "count")),
                    text_of(v, "type"), text_of(v, "provider"),
                    text_of(v, "zone"),
                    flag_of(v, "spot") ? "spot" : "on-demand",
                    arena_printf(a, "%s%.4g",
                                 flag_of(v, "price_estimated") ? "~" : "",
                                 number_of(v, "price_per_hour")),
                    text_of(v, "why")});
        table_print(&t, stdout, 2);
    }
    json_array_foreach(json_object_get(r, "infeasible"), i, v)
        printf("%sinfeasible%s %s\n", colour(RED), colour(PLAIN),
               text_of(v, "text"));
    json_array_foreach(json_object_get(r, "waiting_for"), i, v)
        printf("%swaiting%s %s\n", colour(YELLOW), colour(PLAIN),
               text_of(v, "text"));
}

struct options {
    const char *owner, *ttl, *strategy, *queue;
    long cpus, priority;
    bool clear;
    double wait;
};

/* For programs: waits without output, then prints the state of the request. */
static int wait_json(struct client *c, const struct options *w, struct arena *a)
{
    json_t *reply;
    int rc = watch(c, w->owner, w->wait), got;

    if (rc != EXIT_OK && rc != EXIT_NO)
        return rc;
    got = client_call(
        c, "GET",
        arena_printf(a, "/v1/request_resources/%s", text_encode(a, w->owner)),
        NULL, &reply);
    if (got != EXIT_OK)
        return got;
    cli_json(reply);
    json_decref(reply);
    return rc;
}

static int request_send(struct client *c, const struct options *w,
                        json_t *bundles)
{
    json_t *body = json_pack("{s:s,s:O,s:s*,s:s*,s:s*}", "owner", w->owner,
                             "bundles", bundles, "ttl", w->ttl, "strategy",
                             w->strategy, "queue", w->queue);
    json_t *reply;
    struct arena a = {0};
    bool wait;
    int rc;

    if (w->priority)
        json_object_set_new(body, "priority", json_integer(w->priority));
    if (w->cpus)
        json_object_set_new(body, "num_cpus", json_integer(w->cpus));
    rc = client_call(c, "POST", "/v1/request_resources", body, &reply);
    json_decref(body);
    if (rc != EXIT_OK)
        return rc;
    rc = flag_of(reply, "feasible") ? EXIT_OK : EXIT_NO;
    wait = rc == EXIT_OK && w->wait > 0 && !flag_of(reply, "cleared");
    if (!c->json)
        reply_print(reply, &a);
    else if (!wait)
        cli_json(reply);
    json_decref(reply);
    if (wait)
        rc = c->json ? wait_json(c, w, &a) : watch(c, w->owner, w->wait);
    arena_done(&a);
    return rc;
}

static bool number_read(const char *text, long min, long *ret)
{
    char *end;

    errno = 0;
    *ret = strtol(text, &end, 10);
    return !errno && !*end && end != text && *ret >= min;
}

static int option_read(int opt, struct options *w)
{
    int64_t ms;

    switch (opt) {
    case 'o': w->owner = optarg; break;
    case 't': w->ttl = optarg; break;
    case 's': w->strategy = optarg; break;
    case 'q': w->queue = optarg; break;
    case 'c': w->clear = true; break;
    case 'n':
        if (!number_read(optarg, 1, &w->cpus))
            return cli_usage(&cli_request,
                             "--num-cpus takes a number of at least 1, got %s",
                             optarg);
        break;
    case 'p':
        if (!number_read(optarg, LONG_MIN, &w->priority))
            return cli_usage(&cli_request, "--priority takes a whole number");
        break;
    case 'w':
        if (!duration_parse(optarg, &ms))
            return cli_usage(&cli_request, "--wait takes a time like 5m");
        w->wait = (double)ms / 1000;
        break;
    default: return cli_usage(&cli_request, "see above");
    }
    return EXIT_OK;
}

static int bundles_read(char **texts, int n, const struct options *w,
                        struct arena *a, json_t *to)
{
    for (int i = 0; i < n; i++) {
        json_t *b = bundle_read(texts[i], a);

        if (!b)
            return EXIT_INPUT;
        json_array_append_new(to, b);
    }
    if ((n > 0 || w->cpus) != w->clear)
        return EXIT_OK;
    return cli_usage(&cli_request,
                     w->clear ? "--clear takes no bundles"
                              : "bundles, --num-cpus or --clear are needed");
}

static int run(int argc, char **argv)
{
    static const struct option known[] = {
        {"owner", required_argument, NULL, 'o'},
        {"ttl", required_argument, NULL, 't'},
        {"strategy", required_argument, NULL, 's'},
        {"queue", required_argument, NULL, 'q'},
        {"priority", required_argument, NULL, 'p'},
        {"num-cpus", required_argument, NULL, 'n'},
        {"clear", no_argument, NULL, 'c'},
        {"wait", required_argument, NULL, 'w'},
        {0}};
    struct options w = {.owner = "default"};
    json_t *bundles = json_array();
    struct arena a = {0};
    struct client c;
    int opt, rc = EXIT_OK;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    while (rc == EXIT_OK &&
           (opt = getopt_long(argc, argv, "o:t:s:q:p:n:cw:", known, NULL)) !=
               -1)
        rc = option_read(opt, &w);
    if (rc == EXIT_OK)
        rc = bundles_read(argv + optind, argc - optind, &w, &a, bundles);
    if (rc == EXIT_OK)
        rc = request_send(&c, &w, bundles);
    json_decref(bundles);
    arena_done(&a);
    client_done(&c);
    return rc;
}

const struct cli_command cli_request = {
    "request", "[--owner NAME] [--clear] BUNDLE...",
    "asks for resources; replaces the owner's earlier request", run,
    "BUNDLE is JSON as in the API or a short form, with a count behind a star:\n"
    "  davit request '{\"GPU\": 1, \"accelerator_type\": \"T4\"}*2'\n"
    "  davit request --owner train-42 --ttl 30m GPU=1,accelerator_type=T4*2\n"
    "A request is a total that running work counts towards; it stays until it\n"
    "is replaced, cleared or its ttl is over.\n\n"
    "  --owner NAME       whose request (default \"default\")\n"
    "  --num-cpus N       N bundles of one CPU more\n"
    "  --strategy S       PACK, SPREAD, STRICT_PACK, STRICT_SPREAD: all or none\n"
    "  --queue NAME       the queue it goes to (queues: in the configuration)\n"
    "  --priority N       higher is served first (default 0)\n"
    "  --ttl TIME         ends by itself (30m, 2h)\n"
    "  --clear            asks for nothing any more\n"
    "  --wait TIME        shows the nodes come until all is there; exit code 1\n"
    "                     when it is not by then\n" CLIENT_HELP};
