/*
 * cmd_journal.c - the journal in a person's hands: look, export, take rows out,
 * back up, restore.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../base/clock.h"
#include "../config/config.h"
#include "../store/tools.h"
#include "cli.h"

/* The words of one call. */
struct words {
    struct arena arena;
    const char *path;    /* of the journal */
    struct config *conf; /* NULL: the journal was named itself */
    bool json;
    const char *owners[64]; /* --request */
    uint32_t n_owners;
    char **rest; /* NULL at the end */
};

struct sub {
    const char *name;
    bool journal; /* the one word after it may be the journal */
    int n_rest;   /* else so many; -1: any number */
    int (*run)(struct words *w);
};

static int failed(const struct err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return err->status == ST_RETRY ? EXIT_REFUSED : EXIT_INPUT;
}

/* ---- check */

struct report {
    json_t *json; /* NULL: printed */
    uint32_t bad, odd;
};

static void told(void *arg, enum journal_said what, const char *text)
{
    static const char *const words[] = {"ok", "odd", "bad"};
    struct report *r = arg;

    r->bad += what == JOURNAL_BAD;
    r->odd += what == JOURNAL_ODD;
    if (r->json)
        json_array_append_new(
            r->json, json_pack("{ssss}", "is", words[what], "text", text));
    else
        printf("%-4s %s\n", words[what], text);
}

static const char *orphan(const struct config *c, const struct machine *m)
{
    bool provider = c->n_providers == 0, type = false;

    for (uint32_t i = 0; i < c->n_providers; i++)
        provider |= strcmp(c->providers[i].name, m->provider) == 0;
    for (uint32_t i = 0; i < c->n_types; i++)
        type |= strcmp(c->types[i].fact.name, m->type) == 0;
    return !provider ? "provider" : !type ? "node type" : NULL;
}

/* Machines that nobody lists, or that no setting speaks of. */
static void orphans_check(struct journal *j, const struct config *c,
                          struct report *r)
{
    struct fleet f;
    char text[300];

    fleet_init(&f);
    journal_load_fleet(j, &f, NULL);
    for (uint32_t i = 0; i < f.n; i++) {
        const struct machine *m = f.v[i];
        const char *lacks = orphan(c, m);

        if (!lacks)
            continue;
        snprintf(text, sizeof text,
                 "machine \"%s\": its %s \"%s\" is not in %s: it stays until "
                 "that is there again, or `davit journal forget` it",
                 m->id, lacks, *lacks == 'p' ? m->provider : m->type, c->path);
        told(r, JOURNAL_ODD, text);
    }
    fleet_done(&f);
}

static int check(struct words *w)
{
    struct report r = {.json = w->json ? json_array() : NULL};
    struct journal *j;
    struct err err;

    if (journal_look(w->path, &j, &err) != ST_OK) {
        json_decref(r.json);
        return failed(&err);
    }
    journal_check(j, clock_wall_ms(), told, &r);
    if (w->conf)
        orphans_check(j, w->conf, &r);
    journal_close(j);
    if (w->json) {
        json_t *o = json_pack("{sssbsisiso}", "journal", w->path, "whole",
                              !r.bad, "bad", (int)r.bad, "odd", (int)r.odd,
                              "findings", r.json);
        cli_json(o);
        json_decref(o);
    } else if (r.bad) {
        printf("%s is damaged: `davit journal restore` puts a backup in its "
               "place, `davit journal export` shows what can be read\n",
               w->path);
    }
    return r.bad ? EXIT_NO : EXIT_OK;
}

/* ---- export */

static int export(struct words *w)
{
    struct journal *j;
    struct err err;
    unsigned cut;

    if (journal_look(w->path, &j, &err) != ST_OK)
        return failed(&err);
    cut = journal_export(j, clock_wall_ms(), stdout, &err);
    journal_close(j);
    if (!cut)
        return EXIT_OK;
    fprintf(stderr, "%s\n", err.text);
    return EXIT_NO;
}

/* ---- forget */

static enum status forget_one(struct journal *j, const char *kind,
                              const char *id, uint32_t *missing,
                              struct err *err)
{
    struct journal_event e = {.at_ms = clock_wall_ms(),
                              .kind = "journal.forgotten",
                              .subject = id,
                              .reason = "",
                              .text = "by davit journal forget",
                              .data = ""};
    bool found;
    enum status s = journal_take_out(j, kind, id, &found, err);

    if (s != ST_OK)
        return s;
    if (found)
        return journal_put_event(j, &e, err);
    fprintf(stderr, "there is no %s \"%s\"\n", kind, id);
    ++*missing;
    return ST_OK;
}

static int forget(struct words *w)
{
    uint32_t missing = 0, n = 0;
    struct journal *j;
    struct err err;
    enum status s;

    if (!w->rest[0] && !w->n_owners)
        return cli_usage(&cli_journal, "forget: which machines?");
    s = journal_open(w->path, NULL, &j, &err);
    if (s != ST_OK)
        return failed(&err);
    for (char **id = w->rest; *id && s == ST_OK; id++, n++)
        s = forget_one(j, "machine", *id, &missing, &err);
    for (uint32_t i = 0; i < w->n_owners && s == ST_OK; i++, n++)
        s = forget_one(j, "request", w->owners[i], &missing, &err);
    if (s == ST_OK)
        s = journal_commit(j, &err);
    journal_close(j);
    if (s != ST_OK)
        return failed(&err);
    printf("%u forgotten; a machine that still runs is found again by its "
           "marks\n",
           n - missing);
    return missing ? EXIT_NO : EXIT_OK;
}

/* ---- backup, restore */

static int backup(struct words *w)
{
    struct err err;

    if (journal_backup(w->path, w->rest[0], clock_wall_ms(), &err) != ST_OK)
        return failed(&err);
    printf("%s is a backup of %s\n", w->rest[0], w->path);
    return EXIT_OK;
}

static int restore(struct words *w)
{
    struct journal_restored r;
    char at[40] = "an unknown time";
    struct err err;

    if (journal_restore(w->path, w->rest[0], clock_wall_ms(), &r, &err) !=
        ST_OK)
        return failed(&err);
    if (r.backup_ms)
        clock_iso(r.backup_ms, at, sizeof at);
    printf("%s is as it was at %s: %u machines, %u requests.\n"
           "What was requested or cleared since then is lost: owners must ask "
           "again.\nMachines launched since are found by the next list, those "
           "that ended are missed by it.\n",
           w->path, at, r.machines, r.requests);
    if (*r.aside)
        printf("The journal before it is %s.\n", r.aside);
    return EXIT_OK;
}

/* ---- the words */

static const struct sub subs[] = {{"check", true, 0, check},
                                  {"export", true, 0, export},
                                  {"forget", false, -1, forget},
                                  {"backup", false, 1, backup},
                                  {"restore", false, 1, restore}};

static const struct sub *sub_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof subs / sizeof *subs; i++)
        if (strcmp(subs[i].name, name) == 0)
            return &subs[i];
    return NULL;
}

/* The journal of the configuration; an exit code, or -1. */
static int path_find(struct words *w, const char *config)
{
    const char *elsewhere;
    struct err err;

    w->conf = cli_config(config);
    if (!w->conf)
        return EXIT_INPUT;
    if (w->conf->ha) {
        fprintf(stderr,
                "%s: state: kubernetes keeps the journal in ConfigMaps: "
                "`kubectl get configmaps -l davit.io/state -o yaml` is their "
                "backup\n",
                config);
        return EXIT_INPUT;
    }
    if (config_journal_path(w->conf, &w->arena, &w->path, &elsewhere, &err) !=
        ST_OK)
        return failed(&err);
    return -1;
}

/* An exit code, or -1 to go on. */
static int words_read(struct words *w, const struct sub *s, int argc,
                      char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"journal", required_argument, NULL, 'J'},
        {"request", required_argument, NULL, 'r'},
        {"json", no_argument, NULL, 'j'},
        {0}};
    const char *config = "davit.yaml";
    int opt, n;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "c:r:j", options, NULL)) != -1)
        switch (opt) {
        case 'c': config = optarg; break;
        case 'J': w->path = optarg; break;
        case 'j': w->json = true; break;
        case 'r':
            if (w->n_owners < sizeof w->owners / sizeof *w->owners) {
                w->owners[w->n_owners++] = optarg;
                break;
            }
            return cli_usage(&cli_journal, "at most 64 requests at once");
        default: return cli_usage(&cli_journal, "see above");
        }
    w->rest = argv + optind;
    n = argc - optind;
    if (s->journal && n == 1 && !w->path)
        w->path = w->rest[0];
    else if (s->n_rest >= 0 && n != s->n_rest)
        return cli_usage(&cli_journal, "%s takes %s", s->name,
                         s->n_rest ? "one file" : "one journal");
    return w->path ? -1 : path_find(w, config);
}

static int run(int argc, char **argv)
{
    const struct sub *s = sub_find(argv[1]);
    struct words w = {0};
    int rc;

    if (!s)
        return cli_usage(&cli_journal,
                         argc < 2 ? "what with it?" : "there is no \"%s\"",
                         argv[1]);
    rc = words_read(&w, s, argc - 1, argv + 1);
    if (rc < 0 && s->run != restore && access(w.path, F_OK) != 0) {
        fprintf(stderr, "%s: there is no such journal\n", w.path);
        rc = EXIT_INPUT;
    }
    if (rc < 0)
        rc = s->run(&w);
    if (w.conf)
        config_free(w.conf);
    arena_done(&w.arena);
    return rc;
}

const struct cli_command cli_journal = {
    "journal", "check|export|forget|backup|restore [...]",
    "checks, shows, backs up and restores the journal", run,
    "  check [--json] [JOURNAL]    is it whole, and is all of it understood?\n"
    "  export [JOURNAL]            all of it as JSON\n"
    "  forget ID... [--request OWNER]   takes machines and requests out\n"
    "  backup FILE                 copies it, while the daemon runs or not\n"
    "  restore FILE                puts a backup in its place\n\n"
    "  --config FILE     whose journal it is (default davit.yaml)\n"
    "  --journal FILE    the journal itself\n\n"
    "forget and restore are refused while a daemon has the journal.\n"};
