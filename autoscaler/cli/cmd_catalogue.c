/*
 * cmd_catalogue.c - prints and searches the machine catalogue.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../config/catalogue.h"
#include "../model/amount.h"
#include "cli.h"
#include "table.h"

struct search {
    struct arena arena;
    struct table table;
    json_t *json; /* NULL: the table */
    char **words; /* all must be found */
    int n_words;
    const char *cloud;
    uint32_t found;
};

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return n == 0;
}

static int64_t amount_of(const struct cat_machine *m, const char *name)
{
    for (uint32_t i = 0; i < m->resources.n; i++)
        if (strcmp(m->resources.v[i].name, name) == 0)
            return m->resources.v[i].amount;
    return 0;
}

/* "8 GPU", "2 neuron_cores": what is neither CPU nor memory. */
static const char *devices_of(struct arena *a, const struct cat_machine *m)
{
    for (uint32_t i = 0; i < m->resources.n; i++) {
        const struct qty *q = &m->resources.v[i];
        if (strcmp(q->name, "CPU") != 0 && strcmp(q->name, "memory") != 0)
            return arena_printf(a, "%lld %s",
                                (long long)(q->amount / AMOUNT_ONE), q->name);
    }
    return "";
}

static json_t *as_json(const struct cat_machine *m)
{
    json_t *o = json_pack("{ssssss}", "name", m->name, "cloud", m->cloud,
                          "accelerator", m->accelerator);
    json_t *r = json_object();

    for (uint32_t i = 0; i < m->resources.n; i++)
        json_object_set_new(
            r, m->resources.v[i].name,
            json_real(amount_to_double(m->resources.v[i].amount)));
    json_object_set_new(o, "resources", r);
    json_object_set_new(o, "price_per_hour",
                        m->price_micros_hour < 0
                            ? json_null()
                            : json_real((double)m->price_micros_hour / 1e6));
    json_object_set_new(o, "region", json_string(m->region));
    json_object_set_new(o, "as_of", json_string(m->as_of));
    return o;
}

static void each(void *arg, const struct cat_machine *m)
{
    struct search *s = arg;
    struct arena *a = &s->arena;
    const char *all = arena_printf(a, "%s %s %s", m->name, m->accelerator,
                                   devices_of(a, m));
    char memory[32];

    if (*s->cloud && strcmp(s->cloud, m->cloud) != 0)
        return;
    for (int i = 0; i < s->n_words; i++)
        if (!has_word(all, s->words[i]))
            return;
    s->found++;
    if (s->json) {
        json_array_append_new(s->json, as_json(m));
        return;
    }
    table_row(
        &s->table, PLAIN,
        (const char *[]){
            m->name, m->cloud,
            arena_printf(a, "%lld",
                         (long long)(amount_of(m, "CPU") / AMOUNT_ONE)),
            amount_pretty("memory", amount_of(m, "memory"), memory,
                          sizeof memory),
            devices_of(a, m), m->accelerator,
            m->price_micros_hour < 0
                ? "-"
                : arena_printf(a, "%.4g", (double)m->price_micros_hour / 1e6),
            m->region, m->as_of});
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"cloud", required_argument, NULL, 'c'},
        {"file", required_argument, NULL, 'f'},
        {0}};
    static const char *const columns[] = {
        "MACHINE",     "CLOUD", ">CPU",   ">MEMORY", "DEVICES",
        "ACCELERATOR", ">$/H",  "REGION", "AS OF",   NULL};
    struct search s = {.cloud = ""};
    struct catalogue *c;
    const char *file = "";
    struct buf errors;
    int opt;

    while ((opt = getopt_long(argc, argv, "jc:f:", options, NULL)) != -1) {
        switch (opt) {
        case 'j': s.json = json_array(); break;
        case 'c': s.cloud = optarg; break;
        case 'f': file = optarg; break;
        default: return cli_usage(&cli_catalogue, "see above");
        }
    }
    s.words = argv + optind;
    s.n_words = argc - optind;
    buf_init(&errors, 1 << 20);
    if (catalogue_load(&s.arena, file, &c, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        buf_done(&errors);
        arena_done(&s.arena);
        return EXIT_INPUT;
    }
    table_init(&s.table, &s.arena, columns);
    catalogue_each(c, &s.arena, each, &s);
    if (s.json) {
        json_dumpf(s.json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
        putchar('\n');
        json_decref(s.json);
    } else if (s.found) {
        table_print(&s.table, stdout, 0);
    } else {
        fprintf(stderr, "davit: no machine type matches\n");
    }
    buf_done(&errors);
    arena_done(&s.arena);
    return s.found ? EXIT_OK : EXIT_NO;
}

const struct cli_command cli_catalogue = {
    "catalogue", "[--cloud NAME] [--json] [WORD]...",
    "prints and searches the machine catalogue", run,
    "WORD is part of a machine's name, its accelerator or its devices; all of\n"
    "them must match: davit catalogue --cloud aws A100\n\n"
    "  --cloud NAME    aws, gcp or azure\n"
    "  --file FILE     with the entries of your own file, as catalogue: has it\n"
    "  --json          for programs\n"};
