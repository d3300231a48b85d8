/*
 * cmd_status.c - status, nodes and why, for people.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../base/text.h"
#include "../codec/codec.h"
#include "look/ray_status.h"
#include "look/rows.h"
#include "show.h"
#include "terminal.h"
#include "watch.h"

static struct {
    bool watch, ray, wide, reverse;
    const char *name, *type, *state, *owner, *sort, *not_launched;
} args;

/* ---- status */

static const struct cli_option status_options[] = {
    {"watch", 'w', .flag = &args.watch, .help = "repaints until interrupted"},
    {"ray", .flag = &args.ray,
     .help = "in the words of `ray status`, byte for byte"},
    {0}};

/* The same in Ray's words, for programs that read those. */
static int ray_print(struct client *c, const json_t *status)
{
    struct snapshot *s;
    struct arena a = {0};
    struct err err;
    json_t *json;
    int rc = client_call(c, "GET", "/v1/snapshot", NULL, &json);

    if (rc != EXIT_OK)
        return rc;
    if (codec_snapshot_read(json, &a, &s, &err) == ST_OK) {
        ray_status_print(s, status, stdout);
    } else {
        fprintf(stderr, "davit: the daemon's snapshot: %s\n", err.text);
        rc = EXIT_REFUSED;
    }
    json_decref(json);
    arena_done(&a);
    return rc;
}

static int status_once(struct client *c)
{
    struct arena a = {0};
    json_t *status;
    int rc = client_call(c, "GET", "/v1/status", NULL, &status);

    if (rc != EXIT_OK)
        return rc;
    if (args.ray)
        rc = ray_print(c, status);
    else if (c->json)
        cli_json(status);
    else
        status_print(status, &a);
    json_decref(status);
    arena_done(&a);
    return rc;
}

static int status_run(void)
{
    struct client c;
    int rc;

    if (args.watch && args.ray)
        return cli_usage(&cli_status, "--watch or --ray, not both");
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = args.watch ? watch(&c, NULL, 0) : status_once(&c);
    client_done(&c);
    return rc;
}

const struct cli_command cli_status = {
    .name = "status",
    .help = "what is, what is asked for, what is planned",
    .options = status_options,
    .common = client_options,
    .run = status_run,
    .examples = (const struct cli_example[]){
        {"davit status --watch", "the same, live"},
        {"davit status --ray", "for what reads `ray status`"},
        {0}}};

/* ---- nodes */

static const char *const states[] = {
    "intended", "requested", "starting", "ready", "draining",
    "stopping", "busy",      "held",     "idle",  NULL};

static const struct cli_option nodes_options[] = {
    {"type", 't', "TYPE", .text = &args.type, .takes = TAKES_TYPE,
     .help = "those of this type"},
    {"state", .text = &args.state, .choices = states,
     .help = "those in this state; of ready ones busy (with work), held (asked "
             "for) or idle"},
    {"owner", 'o', "NAME", .text = &args.owner, .takes = TAKES_OWNER,
     .help = "those that hold something of this owner"},
    {"sort", 's', .text = &args.sort, .choices = rows_sorts,
     .help = "in this order; numbers the largest first"},
    {"reverse", .flag = &args.reverse, .help = "the other way round"},
    {"wide", 'w', .flag = &args.wide,
     .help = "memory, market and address as well"},
    {0}};

/* A word that nothing has: did it mean another one? */
static int nothing_like(struct client *c, const char *what, const char *word,
                        const char *list, const char *key)
{
    const char *names[256], *near;
    json_t *status;
    const json_t *v;
    size_t i, n = 0;
    bool known = false;
    int rc = client_call(c, "GET", "/v1/status", NULL, &status);

    if (rc != EXIT_OK)
        return rc;
    v = strcmp(list, "types") == 0
            ? json_object_get(status, "types")
            : json_object_get(json_object_get(status, "demand"), list);
    for (i = 0; i < json_array_size(v) && n < 256; i++) {
        names[n] = text_of(json_array_get(v, i), key);
        known = known || strcmp(names[n++], word) == 0;
    }
    near = known ? NULL : suggest(word, names, n);
    if (!known)
        fprintf(stderr, "davit: there is no %s %s%s%s%s\n", what, word,
                near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
    json_decref(status);
    return known ? EXIT_OK : EXIT_NO;
}

static void rows_json(const struct rows *r)
{
    json_t *list = json_array(), *all;

    for (uint32_t i = 0; i < r->n; i++)
        json_array_append(list, (json_t *)r->v[i]);
    all = json_pack("{s:i,s:o}", "total", (int)r->n, "nodes", list);
    cli_json(all);
    json_decref(all);
}

static int nodes_show(struct client *c)
{
    const struct rows_query q = {.type = args.type,
                                 .state = args.state,
                                 .owner = args.owner,
                                 .sort = args.sort,
                                 .reverse = args.reverse};
    bool chosen = q.type || q.state || q.owner || q.sort;
    struct arena a = {0};
    json_t *nodes;
    struct rows r;
    int rc = client_call(c, "GET", "/v1/nodes", NULL, &nodes);

    if (rc != EXIT_OK)
        return rc;
    r = rows_of(nodes, &q, &a);
    if (!r.n && q.type)
        rc = nothing_like(c, "node type", q.type, "types", "name");
    if (rc == EXIT_OK && !r.n && q.owner)
        rc = nothing_like(c, "owner", q.owner, "owners", "owner");
    if (rc == EXIT_OK && c->json && chosen)
        rows_json(&r);
    else if (rc == EXIT_OK && c->json)
        cli_json(nodes);
    else if (rc == EXIT_OK)
        rows_table(&r, args.wide, &a), age_print(nodes, &a);
    json_decref(nodes);
    arena_done(&a);
    return rc;
}

static int nodes_run(void)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = nodes_show(&c);
    client_done(&c);
    return rc;
}

const struct cli_command cli_nodes = {
    .name = "nodes",
    .help = "every node, what is in use of it, why it is kept or ended",
    .options = nodes_options,
    .common = client_options,
    .run = nodes_run,
    .details = "A line is as wide as the terminal, or as $COLUMNS says; "
               "elsewhere nothing is cut.\n",
    .examples = (const struct cli_example[]){
        {"davit nodes --type t4 --sort age", "the oldest T4s first"},
        {"davit nodes --owner train-42 --wide", "what a request holds"},
        {0}}};

/* ---- why */

static const struct cli_option why_options[] = {
    {"not-launched", .value = "TYPE", .text = &args.not_launched,
     .takes = TAKES_TYPE, .help = "why there are not more nodes of this type"},
    {0}};

static const struct cli_option why_words[] = {
    {"NAME", .text = &args.name, .takes = TAKES_SUBJECT, .optional = true,
     .help = "a node, a node type, a pod or placement group, or whose request "
             "it is; the owner \"ray\" is what the Ray head asks for"},
    {0}};

/* The part of a type alone. */
static int type_print(const char *name, const json_t *reply)
{
    const json_t *lines = json_object_get(reply, "type"), *line;
    size_t i;

    if (!lines) {
        fprintf(stderr, "davit: %s is no node type\n", name);
        return EXIT_NO;
    }
    json_array_foreach(lines, i, line)
        puts(json_string_value(line));
    return EXIT_OK;
}

static int why_show(struct client *c, const char *name)
{
    struct arena a = {0};
    json_t *reply;
    int rc = client_call(c, "GET",
                         arena_printf(&a, "/v1/why/%s", text_encode(&a, name)),
                         NULL, &reply);

    if (rc == EXIT_OK && c->json)
        cli_json(reply);
    else if (rc == EXIT_OK && args.not_launched)
        rc = type_print(name, reply);
    else if (rc == EXIT_OK)
        why_print(reply, &a);
    json_decref(reply);
    arena_done(&a);
    return rc;
}

static int why_run(void)
{
    struct client c;
    int rc;

    if (!args.name == !args.not_launched)
        return cli_usage(&cli_why,
                         "one name is needed, or --not-launched TYPE");
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = why_show(&c, args.name ? args.name : args.not_launched);
    client_done(&c);
    return rc;
}

const struct cli_command cli_why = {
    .name = "why",
    .help = "why a node is there, why a request waits, why a type is not bought",
    .options = why_options,
    .common = client_options,
    .words = why_words,
    .run = why_run,
    .examples = (const struct cli_example[]){
        {"davit why ray", "what Ray's work waits for"},
        {"davit why --not-launched t4", "what is in the way of another T4"},
        {"davit why default/web-7d9f-x2x4q", "a pod that waits"},
        {0}}};
