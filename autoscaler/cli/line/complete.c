/*
 * complete.c - see complete.h.
 */
#include "complete.h"

#include <string.h>

#include "parse.h"

void complete_value(const struct completion *c, const char *value,
                    const char *about)
{
    const char *typed = c->word + c->n_before;

    if (strncmp(value, typed, strlen(typed)) == 0)
        c->add(c->word, c->n_before, value, about);
}

/* ---- names of commands */

static const char *last_word(const struct cli_command *c)
{
    const char *blank = strrchr(c->name, ' ');

    return blank ? blank + 1 : c->name;
}

static void commands_add(const struct completion *c)
{
    for (const struct cli_entry *e = cli_entries; e->command; e++)
        if (e->section)
            complete_value(c, e->command->name, e->command->help);
    complete_value(c, "help", "says what a command does");
}

static void subs_add(const struct completion *c,
                     const struct cli_command *command)
{
    for (size_t i = 0; command->subs && command->subs[i]; i++)
        complete_value(c, last_word(command->subs[i]), command->subs[i]->help);
}

static const struct cli_command *command_named(const char *word)
{
    for (const struct cli_entry *e = cli_entries; e->command; e++)
        if (strcmp(e->command->name, word) == 0)
            return e->command;
    return NULL;
}

static const struct cli_command *sub_named(const struct cli_command *c,
                                           const char *word)
{
    for (size_t i = 0; c->subs[i]; i++)
        if (strcmp(last_word(c->subs[i]), word) == 0)
            return c->subs[i];
    return NULL;
}

/* ---- options and words of one command */

static void value_add(struct completion *c, const struct cli_option *o)
{
    for (size_t i = 0; o->choices && o->choices[i]; i++)
        complete_value(c, o->choices[i], "");
    c->takes = o->takes;
}

static void options_add(struct completion *c, const struct cli_option *o)
{
    c->n_before = 2;
    for (; o && o->name; o++)
        complete_value(c, o->name, o->help);
}

/* The option that a finished word ends with and whose value comes next. */
static const struct cli_option *waits(const struct cli_command *c, char *word)
{
    const struct cli_option *o = NULL;
    const char *eq = strchr(word, '=');

    if (strncmp(word, "--", 2) == 0) {
        size_t n = eq ? (size_t)(eq - word) - 2 : strlen(word + 2);

        o = cli_option_named(c, word + 2, n);
        if (o && eq && o->text)
            *o->text = eq + 1;
        return o && !eq && !o->flag ? o : NULL;
    }
    for (word++; *word; word++) {
        o = cli_option_letter(c, *word);
        if (!o || !o->flag)
            return o && !word[1] ? o : NULL;
    }
    return NULL;
}

static void nth_word(struct completion *c, const struct cli_command *command,
                     int nth)
{
    const struct cli_option *o = command->words;

    for (; o && o->name && nth > 0 && !o->many; nth--)
        o++;
    if (o && o->name)
        value_add(c, o);
}

/* The unfinished word, after nth others that are no options. */
static void last(struct completion *c, const struct cli_command *command,
                 int nth, bool ended)
{
    const char *eq = strchr(c->word, '=');
    const struct cli_option *o;

    if (ended || *c->word != '-') {
        nth_word(c, command, nth);
        return;
    }
    if (strncmp(c->word, "--", 2) == 0 && eq) {
        o = cli_option_named(command, c->word + 2, (size_t)(eq - c->word) - 2);
        c->n_before = (size_t)(eq - c->word) + 1;
        if (o && !o->flag)
            value_add(c, o);
        return;
    }
    if (c->word[1] && c->word[1] != '-')
        return;
    /* "-" becomes "--name". */
    if (!c->word[1])
        c->word = "--";
    options_add(c, command->options);
    options_add(c, command->common);
}

static void in_command(struct completion *c, const struct cli_command *command,
                       int n, char **words)
{
    const struct cli_option *open = NULL;
    bool ended = false;
    int nth = 0;

    for (int i = 0; i < n - 1; i++) {
        if (open) {
            if (open->text)
                *open->text = words[i];
            open = NULL;
        } else if (ended || words[i][0] != '-' || !words[i][1]) {
            nth++;
        } else if (strcmp(words[i], "--") == 0) {
            ended = true;
        } else {
            open = waits(command, words[i]);
        }
    }
    if (open)
        value_add(c, open);
    else
        last(c, command, nth, ended);
}

void complete(int n, char **words, struct completion *c)
{
    const struct cli_command *command;
    bool help = n > 1 && strcmp(words[0], "help") == 0;

    if (help) {
        words++;
        n--;
    }
    c->word = n ? words[n - 1] : "";
    c->n_before = 0;
    c->takes = TAKES_TEXT;
    if (n <= 1) {
        commands_add(c);
        return;
    }
    command = command_named(words[0]);
    if (command && command->subs) {
        if (n == 2) {
            subs_add(c, command);
            return;
        }
        command = sub_named(command, words[1]);
        words++;
        n--;
    }
    if (command && !help)
        in_command(c, command, n - 1, words + 1);
}
