/*
 * find.c - the command that words name, or the nearest to it: parse.h.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/suggest.h"
#include "parse.h"

enum { NAMES = 128 };

/* The last word of its name: "check" of "journal check". */
static const char *last_word(const struct cli_command *c)
{
    const char *blank = strrchr(c->name, ' ');

    return blank ? blank + 1 : c->name;
}

static int no_sub(const struct cli_command *c, const char *word)
{
    const char *names[NAMES], *near;
    char list[300] = "";
    size_t n = 0, used = 0;

    for (; n < NAMES && c->subs[n]; n++) {
        names[n] = last_word(c->subs[n]);
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     n ? ", " : "", names[n]);
    }
    near = word ? suggest(word, names, n) : NULL;
    if (!word)
        return cli_usage(c, "what with it: %s?", list);
    if (near)
        return cli_usage(c, "there is no \"%s\"; did you mean %s?", word, near);
    return cli_usage(c, "there is no \"%s\", but %s", word, list);
}

static const struct cli_command *sub_find(const struct cli_command *c,
                                          const char *word)
{
    for (size_t i = 0; word && c->subs[i]; i++)
        if (strcmp(last_word(c->subs[i]), word) == 0)
            return c->subs[i];
    no_sub(c, word);
    return NULL;
}

static const struct cli_command *unknown(const char *word)
{
    const char *names[NAMES], *near, *here = cli_other_word(word);
    size_t n = 0;

    if (here) {
        fprintf(stderr, "davit: there is no command \"%s\": %s\n", word, here);
        return NULL;
    }
    for (const struct cli_entry *e = cli_entries; n < NAMES && e->command; e++)
        if (e->section)
            names[n++] = e->command->name;
    near = suggest(word, names, n);
    fprintf(stderr,
            "davit: there is no command \"%s\"%s%s%s `davit help` "
            "lists them\n",
            word, near ? "; did you mean " : ";", near ? near : "",
            near ? "?" : "");
    return NULL;
}

const struct cli_command *cli_find(int n, char **words, int *used)
{
    const struct cli_command *c = NULL;

    for (size_t i = 0; !c && cli_entries[i].command; i++)
        if (strcmp(cli_entries[i].command->name, words[0]) == 0)
            c = cli_entries[i].command;
    *used = 1;
    if (!c)
        return unknown(words[0]);
    if (!c->subs || (n > 1 && (strcmp(words[1], "--help") == 0 ||
                               strcmp(words[1], "-h") == 0)))
        return c;
    *used = 2;
    return sub_find(c, n > 1 ? words[1] : NULL);
}
