/*
 * roff.c - see roff.h.
 */
#include "roff.h"

#include <ctype.h>
#include <string.h>

#include "help.h"

enum { WIDTH = 76 };

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

void roff_prose(FILE *out, const char *text)
{
    line(out, text, strlen(text), false);
}

void roff_bold(FILE *out, const char *text)
{
    fputs("\\fB", out);
    plain(out, text);
    fputs("\\fR", out);
}

void roff_italic(FILE *out, const char *text)
{
    fputs("\\fI", out);
    plain(out, text);
    fputs("\\fR", out);
}

void roff_literal(FILE *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        line(out, text, n, true);
        text += n + (text[n] == '\n');
    }
}

void roff_paragraphs(FILE *out, const char *text)
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

void roff_heading(FILE *out, const char *name, const char *help, int part,
                  const struct man_issue *issue)
{
    fputs(".TH ", out);
    for (const char *p = name; *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fprintf(out, " %d %s \"Davit %s\" \"%s\"\n.SH NAME\n", part, issue->date,
            issue->version, part == 1 ? "User Commands" : "File Formats");
    plain(out, name);
    fputs(" \\-\n", out);
    roff_prose(out, help);
}
