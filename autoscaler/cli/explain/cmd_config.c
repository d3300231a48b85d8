/*
 * cmd_config.c - `davit config explain`: what a key of the configuration means.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../../base/suggest.h"
#include "../cli.h"
#include "../table.h"
#include "explain.h"

static struct {
    const char *key;
    bool json;
} args = {"", false};

static bool chosen(const struct explained_list *all, uint32_t i, bool exact)
{
    return !*args.key || (exact ? strcmp(all->v[i].key, args.key) == 0
                                : explain_names(&all->v[i], args.key));
}

/* How many keys are asked for: the one of this very name, or all that fit. */
static uint32_t choose(const struct explained_list *all, bool *ret_exact)
{
    uint32_t n = 0;

    *ret_exact = true;
    for (uint32_t i = 0; i < all->n; i++)
        n += chosen(all, i, true);
    if (n)
        return n;
    *ret_exact = false;
    for (uint32_t i = 0; i < all->n; i++)
        n += chosen(all, i, false);
    return n;
}

static json_t *as_json(const struct explained *e)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "key", e->key, "takes",
                     e->takes, "default", e->dflt, "meaning", e->meaning,
                     "example", e->example ? e->example : "");
}

/* Text below a label, its further lines below its first. */
static void field(const char *label, const char *text)
{
    printf("  %-9s", label);
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, "\n");
        printf("%s%.*s\n", s == text ? "" : "           ", n, s);
        s += n + (s[n] == '\n');
    }
    if (!*text)
        printf("-\n");
}

static void show(const struct explained *e)
{
    printf("%s%s%s\n", colour(BOLD), e->key, colour(PLAIN));
    field("means", e->meaning);
    field("takes", e->takes);
    field("default", e->dflt);
    if (e->example)
        field("example", e->example);
}

/* The keys in one table; those below `top` or all. */
static void show_table(struct arena *a, const struct explained_list *all,
                       const char *top)
{
    struct table t;
    size_t n = strlen(top);

    table_init(&t, a, (const char *const[]){"KEY", "TAKES", "DEFAULT", NULL});
    for (uint32_t i = 0; i < all->n; i++) {
        const struct explained *e = &all->v[i];
        if (strncmp(e->key, top, n) == 0 && (n == 0 || e->key[n] == '.'))
            table_row(&t, PLAIN,
                      (const char *const[]){e->key, e->takes, e->dflt});
    }
    if (t.rows.n > 1)
        table_print(&t, stdout, n ? 2 : 0);
}

static int unknown(struct arena *a, const struct explained_list *all)
{
    const char **names = ARENA_ARRAY(a, const char *, 2 * all->n);
    const char *near;
    size_t n = 0;

    for (uint32_t i = 0; i < all->n; i++) {
        const char *last = strrchr(all->v[i].key, '.');
        names[n++] = all->v[i].key;
        if (last)
            names[n++] = last + 1;
    }
    near = suggest(args.key, names, n);
    fprintf(stderr,
            "davit: there is no key \"%s\"%s%s%s `davit config explain` lists "
            "them\n",
            args.key, near ? "; did you mean " : "", near ? near : "",
            near ? "?" : ";");
    return EXIT_NO;
}

static int explain_run(void)
{
    struct arena a = {0};
    struct explained_list all = explain_all(&a);
    bool exact;
    uint32_t n = choose(&all, &exact);
    json_t *list = args.json ? json_array() : NULL;
    int rc = EXIT_OK;

    if (!n)
        rc = unknown(&a, &all);
    else if (!*args.key && !list)
        show_table(&a, &all, "");
    for (uint32_t i = 0; i < all.n && (*args.key || list); i++) {
        if (!chosen(&all, i, exact))
            continue;
        if (list)
            json_array_append_new(list, as_json(&all.v[i]));
        else
            show(&all.v[i]);
    }
    if (n == 1 && !list)
        show_table(&a, &all, args.key);
    if (list && !rc)
        cli_json(list);
    json_decref(list);
    arena_done(&a);
    return rc;
}

static const struct cli_option options[] = {
    {"json", 'j', .flag = &args.json, .help = "for programs"}, {0}};
static const struct cli_option words[] = {
    {"KEY", .text = &args.key, .takes = TAKES_KEY, .optional = true,
     .help = "limits.idle_timeout, node_types.t4.max, or the last part alone"},
    {0}};

static const struct cli_command explain = {
    .name = "config explain",
    .help = "what a key means, takes, its default and an example",
    .options = options,
    .words = words,
    .run = explain_run,
    .details = "Without KEY: all keys. Exit code 1: there is no such key.",
    .examples = (const struct cli_example[]){
        {"davit config explain limits.idle_timeout", "one key"},
        {"davit config explain limits", "a part of the file, with its keys"},
        {0}}};

const struct cli_command cli_settings = {
    .name = "config",
    .help = "explains the keys of the configuration",
    .subs = (const struct cli_command *const[]){&explain, NULL}};
