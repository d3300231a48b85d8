/*
 * cmd_catalogue.c - prints and searches the machine catalogue.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../config/catalogue.h"
#include "../model/amount.h"
#include "cli.h"
#include "table.h"

static struct {
    const char *cloud, *file, *region;
    struct cli_list words; /* all must be found */
    bool json;
} args = {"", "", "", {0}, false};

struct search {
    struct arena arena;
    struct table table;
    json_t *json; /* NULL: the table */
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
    json_object_set_new(o, "prices", json_object());
    for (uint32_t i = 0; i < m->prices.n; i++)
        json_object_set_new(
            json_object_get(o, "prices"), m->prices.v[i].region,
            json_real((double)m->prices.v[i].micros_hour / 1e6));
    json_object_set_new(o, "as_of", json_string(m->as_of));
    json_object_set_new(o, "arch", json_string(m->arch));
    json_object_set_new(o, "network", json_string(m->network));
    json_object_set_new(o, "sold", json_string(m->sold));
    json_object_set_new(o, "local_ssd",
                        json_real(amount_to_double(m->local_ssd)));
    json_object_set_new(o, "nvlink", json_integer(m->nvlink));
    return o;
}

static void each(void *arg, const struct cat_machine *m)
{
    struct search *s = arg;
    struct arena *a = &s->arena;
    const char *all = arena_printf(a, "%s %s %s %s %s", m->name, m->accelerator,
                                   devices_of(a, m), m->arch, m->sold);
    char memory[32];
    bool there;
    int64_t price = catalogue_price(m, args.region, &there);

    if (*args.cloud && strcmp(args.cloud, m->cloud) != 0)
        return;
    for (uint32_t i = 0; i < args.words.n; i++)
        if (!has_word(all, args.words.v[i]))
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
            price < 0 ? "-" : arena_printf(a, "%.4g", (double)price / 1e6),
            *args.region && there ? args.region : m->region, m->as_of});
}

/* ---- diff */

/* What is said of a machine, one fact after the other. */
enum { FACTS = 11 };
struct facts {
    const char *name, *v[FACTS];
};
static const char *const fact_names[FACTS] = {
    "cpu",  "memory",  "devices",   "accelerator", "price", "prices",
    "arch", "network", "local_ssd", "nvlink",      "sold"};

struct all { /* of one catalogue */
    struct arena *arena;
    VEC(struct facts) machines;
};

/* {eu-west-1: 0.99, ...} */
static const char *prices_shown(struct arena *a, struct cat_prices prices)
{
    const char *all = "";

    for (uint32_t i = 0; i < prices.n; i++)
        all = arena_printf(a, "%s%s%s: %.8g", all, *all ? ", " : "{",
                           prices.v[i].region,
                           (double)prices.v[i].micros_hour / 1e6);
    return *all ? arena_printf(a, "%s}", all) : "";
}

static void facts_take(void *arg, const struct cat_machine *m)
{
    struct all *all = arg;
    struct arena *a = all->arena;
    char memory[32], ssd[32];
    const struct facts f = {
        arena_strdup(a, m->name),
        {arena_printf(a, "%.6g", amount_to_double(amount_of(m, "CPU"))),
         arena_strdup(a, amount_pretty("memory", amount_of(m, "memory"), memory,
                                       sizeof memory)),
         devices_of(a, m), m->accelerator,
         m->price_micros_hour < 0
             ? "none"
             : arena_printf(a, "%.8g", (double)m->price_micros_hour / 1e6),
         prices_shown(a, m->prices), m->arch, m->network,
         arena_strdup(a,
                      amount_pretty("memory", m->local_ssd, ssd, sizeof ssd)),
         arena_printf(a, "%u", m->nvlink), m->sold}};

    VEC_PUSH(a, &all->machines, f);
}

static const struct facts *facts_find(const struct all *all, const char *name)
{
    for (uint32_t i = 0; i < all->machines.n; i++)
        if (strcmp(all->machines.v[i].name, name) == 0)
            return &all->machines.v[i];
    return NULL;
}

/* "~ p5.48xlarge: price 55.04 -> 50, sold (nothing) -> spot"; true: it is another
 * one with the file. */
static bool facts_differ(const struct facts *was, const struct facts *now)
{
    const char *between = was ? "~ " : "+ ";
    bool any = false;

    for (size_t i = 0; i < FACTS; i++) {
        const char *before = was ? was->v[i] : "";

        if (strcmp(before, now->v[i]) == 0)
            continue;
        printf("%s%s%s%s ", between, any ? "" : now->name, any ? "" : ": ",
               fact_names[i]);
        if (was)
            printf("%s -> ", *before ? before : "(nothing)");
        printf("%s", *now->v[i] ? now->v[i] : "(nothing)");
        between = ", ";
        any = true;
    }
    if (any)
        putchar('\n');
    return any;
}

static bool all_take(struct all *ret, const char *file)
{
    struct catalogue *c;
    struct buf errors;
    bool good;

    buf_init(&errors, 1 << 20);
    good = catalogue_load(ret->arena, file, &c, &errors) == ST_OK;
    if (good)
        catalogue_each(c, ret->arena, facts_take, ret);
    else
        fputs(errors.s, stderr);
    buf_done(&errors);
    return good;
}

/* What a file of one's own changes of the catalogue in this program. */
static int diff(const char *file)
{
    struct arena arena = {0};
    struct all was = {.arena = &arena}, now = {.arena = &arena};
    uint32_t others = 0, news = 0;
    bool good = all_take(&was, "") && all_take(&now, file);

    for (uint32_t i = 0; good && i < now.machines.n; i++) {
        const struct facts *f = &now.machines.v[i];
        const struct facts *before = facts_find(&was, f->name);

        if (facts_differ(before, f))
            ++*(before ? &others : &news);
    }
    if (good)
        printf("%u new, %u changed, %u as before\n", news, others,
               now.machines.n - news - others);
    arena_done(&arena);
    return good ? EXIT_OK : EXIT_INPUT;
}

static int run(void)
{
    static const char *const columns[] = {
        "MACHINE",     "CLOUD", ">CPU",   ">MEMORY", "DEVICES",
        "ACCELERATOR", ">$/H",  "REGION", "AS OF",   NULL};
    struct search s = {.json = args.json ? json_array() : NULL};
    struct catalogue *c;
    struct buf errors;

    if (args.words.n == 2 && strcmp(args.words.v[0], "diff") == 0)
        return diff(args.words.v[1]);
    buf_init(&errors, 1 << 20);
    if (catalogue_load(&s.arena, args.file, &c, &errors) != ST_OK) {
        fputs(errors.s, stderr);
        json_decref(s.json);
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

static const struct cli_option options[] = {
    {"cloud", 'c', "NAME", .text = &args.cloud,
     .help = "only of this one, such as aws, gcp, azure"},
    {"file", 'f', .text = &args.file, .takes = TAKES_FILE,
     .help = "with the entries of your own file, as catalogue: has it"},
    {"region", 'r', "NAME", .text = &args.region,
     .help = "prices of this region or zone, where they are listed"},
    {"json", 'j', .flag = &args.json, .help = "for programs"},
    {0}};

static const struct cli_option words[] = {
    {"WORD", .many = &args.words, .optional = true,
     .help = "part of a machine's name, its accelerator or its devices; all "
             "of them must match"},
    {0}};

const struct cli_command cli_catalogue = {
    .name = "catalogue",
    .help = "prints and searches the machine catalogue",
    .options = options,
    .words = words,
    .run = run,
    .examples = (const struct cli_example[]){
        {"davit catalogue --cloud aws A100", "machines of AWS with an A100"},
        {"davit catalogue diff mine.yaml",
         "what mine.yaml adds and changes, fact by fact"},
        {0}}};
