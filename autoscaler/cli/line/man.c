/*
 * man.c - see man.h.
 */
#include "man.h"

#include <string.h>

#include "help.h"
#include "roff.h"

/* ---- parts of a page */

static void words(FILE *out, const struct cli_command *c)
{
    roff_bold(out, "davit ");
    roff_bold(out, c->name);
    if (c->subs)
        fputs(" \\fICOMMAND\\fR", out);
    if (c->subs || c->options || c->common)
        fputs(" [\\fIOPTION\\fR]...", out);
    for (const struct cli_option *o = c->words; o && o->name; o++) {
        fputs(o->optional ? " [" : " ", out);
        roff_italic(out, o->name);
        fputs(o->optional ? "]" : "", out);
        fputs(o->many ? "..." : "", out);
    }
    fputc('\n', out);
}

static void option(FILE *out, const struct cli_option *o, bool word)
{
    char buf[400], letter[3] = {'-', o->letter, '\0'};
    const char *value = word ? "" : help_value(o, buf, sizeof buf);

    fputs(".TP\n", out);
    if (o->letter) {
        roff_bold(out, letter);
        fputs(", ", out);
    }
    if (word) {
        roff_italic(out, o->name);
    } else {
        roff_bold(out, "--");
        roff_bold(out, o->name);
    }
    if (*value) {
        fputc(' ', out);
        roff_italic(out, value);
    }
    fputc('\n', out);
    roff_prose(out, o->help);
}

static void options(FILE *out, const char *title, const struct cli_option *o,
                    bool word)
{
    if (o && o->name)
        fprintf(out, ".%s \"%s\"\n", word || *title == 'O' ? "SH" : "SS",
                title);
    for (; o && o->name; o++)
        option(out, o, word);
}

static void environment(FILE *out, const struct cli_option *o, bool *begun)
{
    for (; o && o->name; o++) {
        if (!o->env)
            continue;
        fputs(*begun ? "" : ".SH ENVIRONMENT\n", out);
        *begun = true;
        fputs(".TP\n", out);
        roff_bold(out, o->env);
        fputs("\nthe value of ", out);
        roff_bold(out, "--");
        roff_bold(out, o->name);
        fputs(" where that is not given\n", out);
    }
}

static void examples(FILE *out, const struct cli_example *e)
{
    if (e && e->command)
        fputs(".SH EXAMPLES\n", out);
    for (; e && e->command; e++) {
        fputs(".TP\n", out);
        roff_bold(out, e->command);
        fputc('\n', out);
        roff_prose(out, e->what);
    }
}

static void sub(FILE *out, const struct cli_command *c)
{
    fputs(".SS ", out);
    fprintf(out, "\"davit %s\"\n", c->name);
    roff_prose(out, c->help);
    fputs(".PP\n", out);
    words(out, c);
    if (c->details) {
        fputs(".PP\n", out);
        roff_paragraphs(out, c->details);
    }
    for (const struct cli_option *o = c->words; o && o->name; o++)
        option(out, o, true);
    for (const struct cli_option *o = c->options; o && o->name; o++)
        option(out, o, false);
}

/* Options that some command or its sub-commands share with others. */
static const struct cli_option *common(const struct cli_command *c)
{
    const struct cli_option *o = c->common;

    for (size_t i = 0; !o && c->subs && c->subs[i]; i++)
        o = c->subs[i]->common;
    return o;
}

static void exits(FILE *out)
{
    static const char *const codes[] = {
        "done, or the answer is yes",
        "understood, and the answer is no",
        "the command line is wrong",
        "a file or a value is wrong; the message says where",
        "no daemon answers at the address",
        "the daemon refused or failed"};

    fputs(".SH \"EXIT STATUS\"\n", out);
    for (int i = 0; i < 6; i++)
        fprintf(out, ".TP\n\\fB%d\\fR\n%s\n", i, codes[i]);
}

/* ---- pages */

void man_command(FILE *out, const struct cli_command *c,
                 const struct man_issue *issue)
{
    char name[80];
    bool begun = false;

    snprintf(name, sizeof name, "davit-%s", c->name);
    roff_heading(out, name, c->help, 1, issue);
    fputs(".SH SYNOPSIS\n", out);
    words(out, c);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", out);
        roff_paragraphs(out, c->details);
    }
    if (c->subs)
        fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; c->subs && c->subs[i]; i++)
        sub(out, c->subs[i]);
    options(out, "ARGUMENTS", c->words, true);
    options(out, "OPTIONS", c->options, false);
    if (common(c) && !(c->options && c->options->name))
        fputs(".SH OPTIONS\n", out);
    options(out, "Common options", common(c), false);
    environment(out, c->options, &begun);
    environment(out, common(c), &begun);
    for (size_t i = 0; c->subs && c->subs[i]; i++)
        environment(out, i ? NULL : c->subs[i]->options, &begun);
    exits(out);
    examples(out, c->examples);
    fputs(".SH \"SEE ALSO\"\n\\fBdavit\\fR(1)\n", out);
}

void man_list(FILE *out, const struct man_issue *issue)
{
    const char *section = "";

    roff_heading(out, "davit", "launches and ends GPU machines", 1, issue);
    fputs(".SH SYNOPSIS\n\\fBdavit\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
          ".br\n\\fBdavit help\\fR [\\fICOMMAND\\fR]\n"
          ".SH DESCRIPTION\n",
          out);
    roff_prose(
        out, "Davit is an autoscaler of GPU machines: for clusters of Ray and "
             "Kubernetes, and for owners who ask for resources themselves. "
             "One program is the daemon and its client.");
    for (const struct cli_entry *e = cli_entries; e->command; e++) {
        if (!e->section)
            continue;
        if (strcmp(section, e->section) != 0)
            fprintf(out, ".SS \"%s\"\n", e->section);
        section = e->section;
        fputs(".TP\n", out);
        roff_bold(out, e->command->name);
        fputc('\n', out);
        roff_prose(out, e->command->help);
    }
    exits(out);
    fputs(".SH FILES\n.TP\n\\fI/etc/davit/davit.yaml\\fR\nthe settings of the "
          "system's daemon\n.TP\n\\fI/var/lib/davit/davit.db\\fR\nits "
          "journal\n.SH \"SEE ALSO\"\n",
          out);
    for (const struct cli_entry *e = cli_entries; e->command; e++) {
        if (!e->section)
            continue;
        fputs(e == cli_entries ? "" : ",\n", out);
        roff_bold(out, "davit-");
        roff_bold(out, e->command->name);
        fputs("(1)", out);
    }
    fputc('\n', out);
}
