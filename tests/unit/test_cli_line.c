/*
 * test_cli_line.c - the option table: what the parser takes, what it says of
 * mistakes, and that every command's own table is whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include <cmocka.h>

#include "cli/line/help.h"
#include "cli/line/parse.h"

static struct {
    bool json, verbose;
    const char *owner, *file, *rest_first;
    int64_t wait_ms, cpus;
    struct cli_list sets, rest;
} got;

static const char *const markets[] = {"spot", "on-demand", NULL};

static const struct cli_option options[] = {
    {"json", 'j', .flag = &got.json, .help = "h"},
    {"verbose", 'v', .flag = &got.verbose, .help = "h"},
    {"owner", 'o', "NAME", .text = &got.owner, .env = "TEST_OWNER",
     .help = "h"},
    {"wait", 'w', .time_ms = &got.wait_ms, .least = 0, .most = 600000,
     .help = "h"},
    {"cpus", .number = &got.cpus, .least = 1, .most = INT64_MAX, .help = "h"},
    {"set", 's', "PATH=VALUE", .many = &got.sets, .most = 2, .help = "h"},
    {0}};
static const struct cli_option common[] = {
    {"market", 'm', .text = &got.rest_first, .choices = markets, .help = "h"},
    {0}};
static const struct cli_option words[] = {
    {"FILE", .text = &got.file, .help = "what is read"},
    {"WORD", .many = &got.rest, .optional = true, .help = "h"},
    {0}};
static const struct cli_command command = {.name = "try",
                                           .help = "tries",
                                           .options = options,
                                           .common = common,
                                           .words = words};

static char said[4000];

/* Parses the words of a line; what goes to stderr is in `said`. */
static int parse(const char *line)
{
    static wordexp_t w;
    static char *argv[32]; /* the parser moves words about */
    FILE *file = tmpfile();
    int err = dup(2), rc;
    size_t n;

    free(got.sets.v);
    free(got.rest.v);
    memset(&got, 0, sizeof got);
    if (w.we_wordv)
        wordfree(&w);
    assert_int_equal(wordexp(line, &w, WRDE_NOCMD), 0);
    assert_true(w.we_wordc < 32);
    memcpy(argv, w.we_wordv, (w.we_wordc + 1) * sizeof *argv);
    fflush(stderr);
    dup2(fileno(file), 2);
    rc = cli_parse(&command, (int)w.we_wordc, argv);
    fflush(stderr);
    dup2(err, 2);
    close(err);
    rewind(file);
    n = fread(said, 1, sizeof said - 1, file);
    said[n] = '\0';
    fclose(file);
    return rc;
}

static void values_go_where_the_table_says(void **state)
{
    (void)state;
    assert_int_equal(parse("try --owner ann f"), EXIT_OK);
    assert_string_equal(got.owner, "ann");
    assert_string_equal(got.file, "f");
    assert_int_equal(parse("try f --owner=ann=b -jv -w90s"), EXIT_OK);
    assert_string_equal(got.owner, "ann=b");
    assert_true(got.json && got.verbose);
    assert_int_equal(got.wait_ms, 90000);
    assert_int_equal(parse("try -s a=1 f --set b=2 g h --cpus 7 -m spot"),
                     EXIT_OK);
    assert_int_equal(got.sets.n, 2);
    assert_string_equal(got.sets.v[1], "b=2");
    assert_int_equal(got.rest.n, 2);
    assert_string_equal(got.rest.v[1], "h");
    assert_null(got.rest.v[2]);
    assert_int_equal(got.cpus, 7);
    assert_string_equal(got.rest_first, "spot");
    assert_int_equal(parse("try -- -j --owner"), EXIT_OK);
    assert_string_equal(got.file, "-j");
    assert_string_equal(got.rest.v[0], "--owner");
    assert_false(got.json);
    assert_int_equal(parse("try -"), EXIT_OK);
    assert_string_equal(got.file, "-");
    /* A value is taken whatever it looks like. */
    assert_int_equal(parse("try -o -j f"), EXIT_OK);
    assert_string_equal(got.owner, "-j");
    assert_int_equal(parse("try -jo f"), EXIT_USAGE);
}

static void the_environment_stands_behind_the_option(void **state)
{
    (void)state;
    setenv("TEST_OWNER", "bob", 1);
    assert_int_equal(parse("try f"), EXIT_OK);
    assert_string_equal(got.owner, "bob");
    assert_int_equal(parse("try f -o ann"), EXIT_OK);
    assert_string_equal(got.owner, "ann");
    setenv("TEST_OWNER", "", 1);
    assert_int_equal(parse("try f"), EXIT_OK);
    assert_null(got.owner);
    unsetenv("TEST_OWNER");
}

static void mistakes_say_what_is_allowed(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"try --ownr x f", "there is no option --ownr; did you mean --owner?"},
        {"try --quite-another f", "there is no option --quite-another\n"},
        {"try --own x f", "there is no option --own; did you mean --owner?"},
        {"try -x f", "there is no option -x"},
        {"try --json=yes f", "--json takes no value"},
        {"try f --owner", "--owner needs a value: NAME"},
        {"try f -w", "--wait needs a value: TIME"},
        {"try f --wait soon",
         "--wait takes a time such as 30s, 5m or 2h, from 0s to 10m, not "
         "\"soon\""},
        {"try f --wait 11m", "from 0s to 10m, not \"11m\""},
        {"try f --cpus 0",
         "--cpus takes a whole number, at least 1, not \"0\""},
        {"try f --cpus 3x", "not \"3x\""},
        {"try f --cpus ''", "not \"\""},
        {"try f --market sopt",
         "--market is one of spot, on-demand, not \"sopt\"; did you mean spot?"},
        {"try f -s 1 -s 2 -s 3", "more than 2 of --set"},
        {"try", "FILE is missing: what is read"},
        {"try", "usage: davit try [OPTION]... FILE [WORD]...\n"},
        {"try --ownr x f", "`davit help try` says more."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].line), EXIT_USAGE);
        if (!strstr(said, cases[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].line, said,
                     cases[i].says);
    }
    assert_int_equal(parse("try f --help"), CLI_ASKS_HELP);
    assert_int_equal(parse("try -h"), CLI_ASKS_HELP);
    assert_int_equal(parse("try -jh"), CLI_ASKS_HELP);
}

/* ---- the tables of the commands */

static void option_is_whole(const char *command_name,
                            const struct cli_option *o, bool word)
{
    int n = !!o->flag + !!o->text + !!o->time_ms + !!o->number + !!o->many;

    if (n != 1)
        fail_msg("%s: %s goes to %d places", command_name, o->name, n);
    if (!o->help || !*o->help || strchr(o->help, '\n'))
        fail_msg("%s: %s: help is one paragraph", command_name, o->name);
    if ((o->choices || o->env) && !o->text)
        fail_msg("%s: %s: choices and env are of a text", command_name,
                 o->name);
    if (word && (o->letter || o->flag || o->env))
        fail_msg("%s: %s is a word", command_name, o->name);
}

static void tables_are_whole(const struct cli_command *c)
{
    const struct cli_option *const lists[] = {c->options, c->common};

    assert_true(c->help && *c->help && !strchr(c->help, '\n'));
    assert_true(strlen(c->help) <= 72);
    assert_true(!c->run == !!c->subs);
    for (int i = 0; i < 2; i++)
        for (const struct cli_option *o = lists[i]; o && o->name; o++) {
            option_is_whole(c->name, o, false);
            /* The first of a name and of a letter: there is no second. */
            assert_ptr_equal(cli_option_named(c, o->name, strlen(o->name)), o);
            assert_int_not_equal(o->letter, 'h');
            if (o->letter)
                assert_ptr_equal(cli_option_letter(c, o->letter), o);
        }
    for (const struct cli_option *o = c->words; o && o->name; o++) {
        option_is_whole(c->name, o, true);
        if (o[1].name && (o->many || o->optional))
            fail_msg("%s: %s must be the last word", c->name, o->name);
    }
}

/* Each example is a line that the parser takes. */
static void examples_parse(const struct cli_command *c)
{
    for (const struct cli_example *e = c->examples; e && e->command; e++) {
        wordexp_t w;
        char *argv[32];
        int used;

        assert_int_equal(wordexp(e->command, &w, WRDE_NOCMD), 0);
        assert_string_equal(w.we_wordv[0], "davit");
        assert_ptr_equal(cli_find((int)w.we_wordc - 1, w.we_wordv + 1, &used),
                         c);
        assert_true(w.we_wordc < 32);
        memcpy(argv, w.we_wordv, (w.we_wordc + 1) * sizeof *argv);
        if (cli_parse(c, (int)w.we_wordc - used, argv + used) != EXIT_OK)
            fail_msg("%s: example \"%s\"", c->name, e->command);
        wordfree(&w);
    }
}

static void every_command_is_whole(void **state)
{
    (void)state;
    for (const struct cli_entry *e = cli_entries; e->command; e++) {
        tables_are_whole(e->command);
        examples_parse(e->command);
        for (size_t i = 0; e->command->subs && e->command->subs[i]; i++) {
            const struct cli_command *sub = e->command->subs[i];
            size_t n = strlen(e->command->name);

            assert_true(strncmp(sub->name, e->command->name, n) == 0 &&
                        sub->name[n] == ' ');
            tables_are_whole(sub);
            examples_parse(sub);
        }
    }
}

static void commands_are_found(void **state)
{
    int used;

    (void)state;
    assert_string_equal(
        cli_find(2, (char *[]){"journal", "check"}, &used)->name,
        "journal check");
    assert_int_equal(used, 2);
    assert_string_equal(cli_find(1, (char *[]){"plan"}, &used)->name, "plan");
    assert_int_equal(used, 1);
    assert_null(cli_find(1, (char *[]){"statu"}, &used));
    assert_null(cli_find(1, (char *[]){"journal"}, &used));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_where_the_table_says),
        cmocka_unit_test(the_environment_stands_behind_the_option),
        cmocka_unit_test(mistakes_say_what_is_allowed),
        cmocka_unit_test(every_command_is_whole),
        cmocka_unit_test(commands_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
