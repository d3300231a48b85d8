/*
 * man.c - see man.h.
 */
#include "man.h"

#include <ctype.h>
#include <string.h>

#include "help.h"

enum { WIDTH = 76 };

/* ---- the language */

/* A character as roff shows it unchanged. */
static const char *shown(char c, char one[2])
{
    static const struct {
        char c;
        const char *shown;
    } others[] = {{'\\', "\\e"},   {'-', "\\-"},   {'`', "\\(ga"},
                  {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"},
                  {'"', "\\(dq"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c == others[i].c)
            return others[i].shown;
    one[0] = c;
    one[1] = '\0';
    return one;
}

static void plain(FILE *out, const char *text)
{
    char one[2];

    for (; *text; text++)
        fputs(shown(*text, one), out);
}

/* How many bytes the first word takes in the output. */
static int word_width(const char *text, const char *end)
{
    char one[2];
    int n = 0;

    for (; text < end && *text != ' ' && *text != '\n'; text++)
        n += (int)strlen(shown(*text, one));
    return n;
}

/* Filled text in lines that are not long; a point at the beginning of one would
 * be a request.  Literal text stays in its line. */
static void line(FILE *out, const char *text, size_t n, bool literal)
{
    const char *end = text + n;
    char one[2];
    int at = 0;

    if (n && *text == '.')
        fputs("\\&", out);
    for (; text < end; text++) {
        bool blank = *text == ' ' || *text == '\n';

        if (!literal && blank && at &&
            (*text == '\n' || at + 1 + word_width(text + 1, end) > WIDTH)) {
            fputs(text[1] == '.' ? "\n\\&" : "\n", out);
            at = 0;
        } else if (literal || !blank || at) {
            at += fprintf(out, "%s", shown(*text, one));
        }
    }
    fputc('\n', out);
}

static void prose(FILE *out, const char *text)
{
    line(out, text, strlen(text), false);
}

static void bold(FILE *out, const char *text)
{
    fputs("\\fB", out);
    plain(out, text);
    fputs("\\fR", out);
}

static void italic(FILE *out, const char *text)
{
    fputs("\\fI", out);
    plain(out, text);
    fputs("\\fR", out);
}

static void paragraphs(FILE *out, const char *text)
{
    bool literal, open = false, first = true;
    size_t n;

    for (const char *next; (next = help_piece(text, &n, &literal));
         text = next, first = false) {
        if (open && !literal)
            fputs(".fi\n", out);
        if (!first && !(open && literal))
            fputs(".PP\n", out);
        if (literal && !open)
            fputs(".nf\n", out);
        open = literal;
        line(out, next - n, n, literal);
    }
    if (open)
        fputs(".fi\n", out);
}

/* ---- parts of a page */

static void heading(FILE *out, const char *name, const char *help,
                    const struct man_issue *issue)
{
    fputs(".TH ", out);
    for (const char *p = name; *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fprintf(out, " 1 %s \"Davit %s\" \"User Commands\"\n.SH NAME\n",
            issue->date, issue->version);
    plain(out, name);
    fputs(" \\-\n", out);
    prose(out, help);
}

static void words(FILE *out, const struct cli_command *c)
{
    bold(out, "davit ");
    bold(out, c->name);
    if (c->subs)
        fputs(" \\fICOMMAND\\fR", out);
    if (c->subs || c->options || c->common)
        fputs(" [\\fIOPTION\\fR]...", out);
    for (const struct cli_option *o = c->words; o && o->name; o++) {
        fputs(o->optional ? " [" : " ", out);
        italic(out, o->name);
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
        bold(out, letter);
        fputs(", ", out);
    }
    if (word) {
        italic(out, o->name);
    } else {
        bold(out, "--");
        bold(out, o->name);
    }
    if (*value) {
        fputc(' ', out);
        italic(out, value);
    }
    fputc('\n', out);
    prose(out, o->help);
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
        bold(out, o->env);
        fputs("\nthe value of ", out);
        bold(out, "--");
        bold(out, o->name);
        fputs(" where that is not given\n", out);
    }
}

static void examples(FILE *out, const struct cli_example *e)
{
    if (e && e->command)
        fputs(".SH EXAMPLES\n", out);
    for (; e && e->command; e++) {
        fputs(".TP\n", out);
        bold(out, e->command);
        fputc('\n', out);
        prose(out, e->what);
    }
}

static void sub(FILE *out, const struct cli_command *c)
{
    fputs(".SS ", out);
    fprintf(out, "\"davit %s\"\n", c->name);
    prose(out, c->help);
    fputs(".PP\n", out);
    words(out, c);
    if (c->details) {
        fputs(".PP\n", out);
        paragraphs(out, c->details);
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
    heading(out, name, c->help, issue);
    fputs(".SH SYNOPSIS\n", out);
    words(out, c);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", out);
        paragraphs(out, c->details);
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

    heading(out, "davit", "raises and lowers GPU machines", issue);
    fputs(".SH SYNOPSIS\n\\fBdavit\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
          ".br\n\\fBdavit help\\fR [\\fICOMMAND\\fR]\n"
          ".SH DESCRIPTION\n",
          out);
    prose(out,
          "Davit is an autoscaler of GPU machines: for clusters of Ray and "
          "Kubernetes, and for owners who ask for resources themselves. "
          "One program is the daemon and its client.");
    for (const struct cli_entry *e = cli_entries; e->command; e++) {
        if (!e->section)
            continue;
        if (strcmp(section, e->section) != 0)
            fprintf(out, ".SS \"%s\"\n", e->section);
        section = e->section;
        fputs(".TP\n", out);
        bold(out, e->command->name);
        fputc('\n', out);
        prose(out, e->command->help);
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
        bold(out, "davit-");
        bold(out, e->command->name);
        fputs("(1)", out);
    }
    fputc('\n', out);
}
