/*
 * cmd_journal.c - the journal in a person's hands: look, export, take rows out,
 * back up, restore.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../base/clock.h"
#include "../config/config.h"
#include "../store/tools.h"
#include "cli.h"

static struct {
    const char *config, *journal, *named, *file;
    struct cli_list ids, owners;
    bool json;
} args = {.config = "davit.yaml"};

/* The journal that was meant. */
struct work {
    struct arena arena;
    const char *path;
    struct config *conf; /* NULL: the journal was named itself */
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

static int check(struct work *w)
{
    struct report r = {.json = args.json ? json_array() : NULL};
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
    if (args.json) {
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

static int export(struct work *w)
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

static int forget(struct work *w)
{
    uint32_t missing = 0, n = 0;
    struct journal *j;
    struct err err;
    enum status s;

    s = journal_open(w->path, NULL, &j, &err);
    if (s != ST_OK)
        return failed(&err);
    for (uint32_t i = 0; i < args.ids.n && s == ST_OK; i++, n++)
        s = forget_one(j, "machine", args.ids.v[i], &missing, &err);
    for (uint32_t i = 0; i < args.owners.n && s == ST_OK; i++, n++)
        s = forget_one(j, "request", args.owners.v[i], &missing, &err);
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

static int backup(struct work *w)
{
    struct err err;

    if (journal_backup(w->path, args.file, clock_wall_ms(), &err) != ST_OK)
        return failed(&err);
    printf("%s is a backup of %s\n", args.file, w->path);
    return EXIT_OK;
}

static int restore(struct work *w)
{
    struct journal_restored r;
    char at[40] = "an unknown time";
    struct err err;

    if (journal_restore(w->path, args.file, clock_wall_ms(), &r, &err) != ST_OK)
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

/* ---- which journal */

/* That of the configuration; an exit code. */
static int path_of_config(struct work *w)
{
    const char *elsewhere;
    struct err err;

    w->conf = cli_config(args.config);
    if (!w->conf)
        return EXIT_INPUT;
    if (w->conf->ha) {
        fprintf(stderr,
                "%s: state: kubernetes keeps the journal in ConfigMaps: "
                "`kubectl get configmaps -l davit.io/state -o yaml` is their "
                "backup\n",
                args.config);
        return EXIT_INPUT;
    }
    if (config_journal_path(w->conf, &w->arena, &w->path, &elsewhere, &err) !=
        ST_OK)
        return failed(&err);
    return EXIT_OK;
}

static int with_journal(int (*run)(struct work *w), bool must_be)
{
    struct work w = {.path = args.named ? args.named : args.journal};
    int rc = w.path ? EXIT_OK : path_of_config(&w);

    if (rc == EXIT_OK && must_be && access(w.path, F_OK) != 0) {
        fprintf(stderr, "%s: there is no such journal\n", w.path);
        rc = EXIT_INPUT;
    }
    if (rc == EXIT_OK)
        rc = run(&w);
    if (w.conf)
        config_free(w.conf);
    arena_done(&w.arena);
    return rc;
}

static int check_run(void)
{
    return with_journal(check, true);
}

static int export_run(void)
{
    return with_journal(export, true);
}

static int backup_run(void)
{
    return with_journal(backup, true);
}

static int restore_run(void)
{
    return with_journal(restore, false);
}

static const struct cli_command cli_journal_forget;

static int forget_run(void)
{
    if (!args.ids.n && !args.owners.n)
        return cli_usage(&cli_journal_forget, "which machines?");
    return with_journal(forget, true);
}

/* ---- the commands */

static const struct cli_option which[] = {
    {"config", 'c', .text = &args.config, .takes = TAKES_FILE,
     .help = "whose journal it is (default davit.yaml)"},
    {"journal", .text = &args.journal, .takes = TAKES_FILE,
     .help = "the journal itself"},
    {0}};

static const struct cli_option json[] = {
    {"json", 'j', .flag = &args.json, .help = "for programs"}, {0}};

static const struct cli_option journal_word[] = {
    {"JOURNAL", .text = &args.named, .takes = TAKES_FILE, .optional = true,
     .help = "the same as --journal JOURNAL"},
    {0}};

static const struct cli_option to_file[] = {
    {"FILE", .text = &args.file, .takes = TAKES_FILE, .help = "the new backup"},
    {0}};

static const struct cli_option from_file[] = {
    {"FILE", .text = &args.file, .takes = TAKES_FILE, .help = "the backup"},
    {0}};

static const struct cli_option forget_options[] = {
    {"request", 'r', "OWNER", .many = &args.owners, .most = 64,
     .takes = TAKES_OWNER, .help = "an owner whose request is taken out"},
    {0}};

static const struct cli_option forget_words[] = {
    {"ID", .many = &args.ids, .takes = TAKES_NODE, .optional = true,
     .help = "a machine that is taken out"},
    {0}};

static const struct cli_command cli_journal_check = {
    .name = "journal check",
    .help = "says whether it is whole and all of it is understood",
    .options = json,
    .common = which,
    .words = journal_word,
    .run = check_run};

static const struct cli_command cli_journal_export = {
    .name = "journal export",
    .help = "all of it as JSON",
    .common = which,
    .words = journal_word,
    .run = export_run};

static const struct cli_command cli_journal_forget = {
    .name = "journal forget",
    .help = "takes machines and requests out",
    .options = forget_options,
    .common = which,
    .words = forget_words,
    .run = forget_run};

static const struct cli_command cli_journal_backup = {
    .name = "journal backup",
    .help = "copies it, while the daemon runs or not",
    .common = which,
    .words = to_file,
    .run = backup_run};

static const struct cli_command cli_journal_restore = {
    .name = "journal restore",
    .help = "puts a backup in its place",
    .common = which,
    .words = from_file,
    .run = restore_run};

const struct cli_command cli_journal = {
    .name = "journal",
    .help = "checks, shows, backs up and restores the journal",
    .subs =
        (const struct cli_command *const[]){
            &cli_journal_check, &cli_journal_export, &cli_journal_forget,
            &cli_journal_backup, &cli_journal_restore, NULL},
    .details = "forget and restore are refused while a daemon has the "
               "journal.\n"};
