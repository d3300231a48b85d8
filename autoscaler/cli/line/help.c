/*
 * help.c - see help.h.
 */
#include "help.h"

#include <string.h>

enum { WIDTH = 80, COLUMN = 26, COMMAND_COLUMN = 20 };

static bool any(const struct cli_option *o)
{
    return o && o->name;
}

/* ---- filled text */

const char *help_piece(const char *text, size_t *n, bool *literal)
{
    const char *end;

    text += strspn(text, "\n");
    if (!*text)
        return NULL;
    *literal = *text == ' ';
    end = strchr(text, '\n');
    while (!*literal && end && end[1] && end[1] != '\n' && end[1] != ' ')
        end = strchr(end + 1, '\n');
    *n = end ? (size_t)(end - text) : strlen(text);
    return text + *n;
}

/* Words of text at a column, which the first line has reached already. */
static void fill(FILE *out, const char *text, size_t n, int indent)
{
    const char *end = text + n;
    int at = indent;

    while (text < end) {
        int len;

        text += strspn(text, " \n");
        len = (int)strcspn(text, " \n");
        if (len > end - text)
            len = (int)(end - text);
        if (len <= 0)
            break;
        if (at > indent && at + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        at += fprintf(out, "%s%.*s", at > indent ? " " : "", len, text);
        text += len;
    }
    fputc('\n', out);
}

static void paragraphs(FILE *out, const char *text)
{
    bool literal, before = true;
    size_t n;

    for (const char *next; (next = help_piece(text, &n, &literal));
         text = next) {
        const char *from = next - n;

        if (!literal || !before)
            fputc('\n', out);
        if (literal)
            fprintf(out, "%.*s\n", (int)n, from);
        else
            fill(out, from, n, 0);
        before = literal;
    }
}

/* ---- usage */

const char *help_choices(const struct cli_option *o, const char *between,
                         char *buf, size_t size)
{
    size_t n = 0;

    *buf = '\0';
    for (size_t i = 0; o->choices[i] && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? between : "",
                              o->choices[i]);
    return buf;
}

const char *help_value(const struct cli_option *o, char *buf, size_t size)
{
    static const char *const words[] = {
        [TAKES_TEXT] = "TEXT",   [TAKES_FILE] = "FILE",
        [TAKES_FOLDER] = "DIR",  [TAKES_KEY] = "KEY",
        [TAKES_TYPE] = "TYPE",   [TAKES_NODE] = "NODE",
        [TAKES_OWNER] = "OWNER", [TAKES_SUBJECT] = "NODE|OWNER"};

    if (o->flag)
        return "";
    if (o->value)
        return o->value;
    if (o->time_ms || o->number)
        return o->time_ms ? "TIME" : "N";
    if (!o->choices)
        return words[o->takes];
    return help_choices(o, "|", buf, size);
}

static const char *word_shown(const struct cli_option *o, char *buf,
                              size_t size)
{
    const char *dots = o->many ? "..." : "";

    if (o->optional)
        snprintf(buf, size, "[%s]%s", o->name, dots);
    else
        snprintf(buf, size, "%s%s", o->name, dots);
    return buf;
}

void help_usage(FILE *out, const struct cli_command *c)
{
    const char *before = "";
    char shown[80];

    for (size_t i = 0; c->subs && c->subs[i]; i++)
        fprintf(out, "%s%s", i ? "|" : "", strrchr(c->subs[i]->name, ' ') + 1);
    if (c->subs)
        before = " ";
    if (c->subs || any(c->options) || any(c->common)) {
        fprintf(out, "%s[OPTION]...", before);
        before = " ";
    }
    for (const struct cli_option *o = c->words; any(o); o++) {
        fprintf(out, "%s%s", before, word_shown(o, shown, sizeof shown));
        before = " ";
    }
}

/* ---- one command */

static void option_print(FILE *out, const struct cli_option *o, bool word)
{
    char left[120], value[400];
    const char *v = help_value(o, value, sizeof value);

    if (word)
        snprintf(left, sizeof left, "  %s", o->name);
    else if (o->letter)
        snprintf(left, sizeof left, "  -%c, --%s%s%s", o->letter, o->name,
                 *v ? " " : "", v);
    else
        snprintf(left, sizeof left, "      --%s%s%s", o->name, *v ? " " : "",
                 v);
    if (strlen(left) < COLUMN - 1)
        fprintf(out, "%-*s", COLUMN, left);
    else
        fprintf(out, "%s\n%*s", left, COLUMN, "");
    fill(out, o->help, strlen(o->help), COLUMN);
}

static void options_print(FILE *out, const char *title,
                          const struct cli_option *o, bool word)
{
    if (any(o))
        fprintf(out, "\n%s:\n", title);
    for (; any(o); o++)
        option_print(out, o, word);
}

static void examples_print(FILE *out, const struct cli_example *e)
{
    if (e && e->command)
        fprintf(out, "\nExamples:\n");
    for (; e && e->command; e++)
        fprintf(out, "  %s\n      %s\n", e->command, e->what);
}

void help_command(FILE *out, const struct cli_command *c)
{
    fprintf(out, "usage: davit %s ", c->name);
    help_usage(out, c);
    fprintf(out, "\n\n%s.\n", c->help);
    if (c->details)
        paragraphs(out, c->details);
    if (c->subs)
        fprintf(out, "\nCommands:\n");
    for (size_t i = 0; c->subs && c->subs[i]; i++)
        fprintf(out, "  %-*s %s\n", COMMAND_COLUMN, c->subs[i]->name,
                c->subs[i]->help);
    options_print(out, "Arguments", c->words, true);
    options_print(out, "Options", c->options, false);
    options_print(out, "Common options", c->common, false);
    examples_print(out, c->examples);
    if (c->subs)
        fprintf(out, "\n`davit help %s COMMAND` says more.\n", c->name);
}

void help_list(FILE *out)
{
    const char *section = "";

    fprintf(out, "davit - launches and ends GPU machines\n\n"
                 "usage: davit COMMAND [...]\n");
    for (const struct cli_entry *e = cli_entries; e->command; e++) {
        if (!e->section)
            continue;
        if (strcmp(section, e->section) != 0)
            fprintf(out, "\n%s:\n", e->section);
        section = e->section;
        fprintf(out, "  %-*s %s\n", COMMAND_COLUMN, e->command->name,
                e->command->help);
    }
    fprintf(out, "\n`davit help COMMAND` says more.\n");
}
