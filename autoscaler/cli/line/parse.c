/*
 * parse.c - see parse.h.
 */
#include "parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/suggest.h"
#include "../../codec/codec.h"
#include "help.h"

enum { NAMES = 128 };

/* ---- what there is */

static const struct cli_option *named_in(const struct cli_option *o,
                                         const char *name, size_t n)
{
    for (; o && o->name; o++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

const struct cli_option *cli_option_named(const struct cli_command *c,
                                          const char *name, size_t n)
{
    const struct cli_option *o = named_in(c->options, name, n);

    return o ? o : named_in(c->common, name, n);
}

static const struct cli_option *letter_in(const struct cli_option *o, char l)
{
    for (; o && o->name; o++)
        if (o->letter && o->letter == l)
            return o;
    return NULL;
}

const struct cli_option *cli_option_letter(const struct cli_command *c,
                                           char letter)
{
    const struct cli_option *o = letter_in(c->options, letter);

    return o ? o : letter_in(c->common, letter);
}

static void names_add(const struct cli_option *o, const char **names, size_t *n)
{
    for (; o && o->name; o++)
        if (*n < NAMES)
            names[(*n)++] = o->name;
}

static int no_option(const struct cli_command *c, const char *name, size_t len)
{
    const char *names[NAMES], *near;
    char word[80];
    size_t n = 0;

    snprintf(word, sizeof word, "%.*s", (int)len, name);
    names_add(c->options, names, &n);
    names_add(c->common, names, &n);
    near = suggest(word, names, n);
    return cli_usage(c, "there is no option --%s%s%s%s", word,
                     near ? "; did you mean --" : "", near ? near : "",
                     near ? "?" : "");
}

int cli_usage(const struct cli_command *c, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "davit %s: ", c->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nusage: davit %s ", c->name);
    help_usage(stderr, c);
    fprintf(stderr, "\n`davit help %s` says more.\n", c->name);
    return EXIT_USAGE;
}

/* ---- values */

/* How a message names it: "--owner", or "NODE" of a word. */
static const char *called(const struct cli_option *o, bool word, char buf[80])
{
    snprintf(buf, 80, "%s%s", word ? "" : "--", o->name);
    return buf;
}

static bool number_read(const char *text, int64_t *ret)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    *ret = v;
    return !errno && !*end && end != text;
}

static void time_write(int64_t ms, char *buf, size_t size)
{
    if (ms % 3600000 == 0 && ms)
        snprintf(buf, size, "%lldh", (long long)ms / 3600000);
    else if (ms % 60000 == 0 && ms)
        snprintf(buf, size, "%lldm", (long long)ms / 60000);
    else if (ms % 1000 == 0)
        snprintf(buf, size, "%llds", (long long)ms / 1000);
    else
        snprintf(buf, size, "%lldms", (long long)ms);
}

/* ", from 0s to 10m", ", at least 1", "". */
static const char *range_text(const struct cli_option *o, char *buf,
                              size_t size)
{
    char least[40], most[40];

    *buf = '\0';
    if (!o->least && !o->most)
        return buf;
    if (o->time_ms) {
        time_write(o->least, least, sizeof least);
        time_write(o->most, most, sizeof most);
    } else {
        snprintf(least, sizeof least, "%lld", (long long)o->least);
        snprintf(most, sizeof most, "%lld", (long long)o->most);
    }
    if (o->most == INT64_MAX)
        snprintf(buf, size, ", at least %s", least);
    else
        snprintf(buf, size, ", from %s to %s", least, most);
    return buf;
}

static int amount_set(const struct cli_command *c, const struct cli_option *o,
                      const char *value, bool word)
{
    char name[80], range[100];
    int64_t v;
    bool good = o->time_ms ? duration_parse(value, &v) : number_read(value, &v);

    if (good && (o->least || o->most))
        good = v >= o->least && v <= o->most;
    if (!good)
        return cli_usage(
            c, "%s takes %s%s, not \"%s\"", called(o, word, name),
            o->time_ms ? "a time such as 30s, 5m or 2h" : "a whole number",
            range_text(o, range, sizeof range), value);
    *(o->time_ms ? o->time_ms : o->number) = v;
    return EXIT_OK;
}

static int choice_check(const struct cli_command *c, const struct cli_option *o,
                        const char *value, bool word)
{
    char name[80], list[400];
    const char *near;
    size_t n = 0;

    for (; o->choices[n]; n++)
        if (strcmp(o->choices[n], value) == 0)
            return EXIT_OK;
    near = suggest(value, o->choices, n);
    help_choices(o, ", ", list, sizeof list);
    return cli_usage(c, "%s is one of %s, not \"%s\"%s%s%s",
                     called(o, word, name), list, value,
                     near ? "; did you mean " : "", near ? near : "",
                     near ? "?" : "");
}

static int list_add(const struct cli_command *c, const struct cli_option *o,
                    char *value)
{
    struct cli_list *l = o->many;

    if (o->most && l->n >= (uint64_t)o->most)
        return cli_usage(c, "more than %lld of --%s", (long long)o->most,
                         o->name);
    l->v = mem_resize(l->v, l->n + 2, sizeof *l->v);
    l->v[l->n++] = value;
    l->v[l->n] = NULL;
    return EXIT_OK;
}

static int value_set(const struct cli_command *c, const struct cli_option *o,
                     char *value, bool word)
{
    int rc = EXIT_OK;

    if (o->choices)
        rc = choice_check(c, o, value, word);
    if (rc != EXIT_OK)
        return rc;
    if (o->many)
        return list_add(c, o, value);
    if (o->time_ms || o->number)
        return amount_set(c, o, value, word);
    *o->text = value;
    return EXIT_OK;
}

/* ---- options */

/* What is still to be read. */
struct line {
    const struct cli_command *c;
    char **argv;
    int argc, at;
    char **words; /* compacted at the beginning of argv */
    int n_words;
};

static int option_take(struct line *l, const struct cli_option *o, char *value)
{
    char name[80];

    if (o->flag && value)
        return cli_usage(l->c, "--%s takes no value", o->name);
    if (o->flag) {
        *o->flag = true;
        return EXIT_OK;
    }
    if (!value && l->at < l->argc)
        value = l->argv[l->at++];
    if (!value)
        return cli_usage(l->c, "%s needs a value: %s", called(o, false, name),
                         help_value(o, (char[400]){0}, 400));
    return value_set(l->c, o, value, false);
}

static int long_option(struct line *l, char *text)
{
    char *eq = strchr(text, '=');
    size_t n = eq ? (size_t)(eq - text) : strlen(text);
    const struct cli_option *o = cli_option_named(l->c, text, n);

    if (!o && n == 4 && strncmp(text, "help", 4) == 0)
        return CLI_ASKS_HELP;
    return o ? option_take(l, o, eq ? eq + 1 : NULL) : no_option(l->c, text, n);
}

static int letters(struct line *l, char *p)
{
    int rc = EXIT_OK;

    while (rc == EXIT_OK && *p) {
        const struct cli_option *o = cli_option_letter(l->c, *p);

        if (!o && *p == 'h')
            return CLI_ASKS_HELP;
        if (!o)
            return cli_usage(l->c, "there is no option -%c", *p);
        if (!o->flag)
            return option_take(l, o, p[1] ? p + 1 : NULL);
        rc = option_take(l, o, NULL);
        p++;
    }
    return rc;
}

static void env_take(const struct cli_option *o)
{
    for (; o && o->name; o++) {
        const char *v = o->env ? getenv(o->env) : NULL;

        if (v && *v)
            *o->text = v;
    }
}

/* ---- words */

static int words_set(struct line *l)
{
    const struct cli_option *o = l->c->words;
    int i = 0, rc = EXIT_OK;

    for (; o && o->name && rc == EXIT_OK; o++) {
        if (i == l->n_words && !o->optional)
            return cli_usage(l->c, "%s is missing: %s", o->name, o->help);
        if (o->many)
            while (i < l->n_words && rc == EXIT_OK)
                rc = value_set(l->c, o, l->words[i++], true);
        else if (i < l->n_words)
            rc = value_set(l->c, o, l->words[i++], true);
    }
    if (rc == EXIT_OK && i < l->n_words)
        return cli_usage(l->c, "there is no use for \"%s\"", l->words[i]);
    return rc;
}

int cli_parse(const struct cli_command *c, int argc, char **argv)
{
    struct line l = {
        .c = c, .argv = argv, .argc = argc, .at = 1, .words = argv + 1};
    bool ended = false;
    int rc = EXIT_OK;

    env_take(c->options);
    env_take(c->common);
    while (rc == EXIT_OK && l.at < argc) {
        char *p = argv[l.at++];

        if (ended || p[0] != '-' || !p[1])
            l.words[l.n_words++] = p;
        else if (p[1] != '-')
            rc = letters(&l, p + 1);
        else if (p[2])
            rc = long_option(&l, p + 2);
        else
            ended = true;
    }
    return rc == EXIT_OK ? words_set(&l) : rc;
}
