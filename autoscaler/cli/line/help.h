/*
 * help.h - what a command's table says, for people.  Thread: main.
 */
#ifndef CLI_LINE_HELP_H
#define CLI_LINE_HELP_H

#include <stdio.h>

#include "../cli.h"

void help_list(FILE *out); /* every command in a line */
void help_command(FILE *out, const struct cli_command *c);

/* "[OPTION]... FILE", in one line. */
void help_usage(FILE *out, const struct cli_command *c);
/* The argument of an option, "TIME" or "a|b"; "" of one that takes none. */
const char *help_value(const struct cli_option *o, char *buf, size_t size);
/* All that it may be, with this between them. */
const char *help_choices(const struct cli_option *o, const char *between,
                         char *buf, size_t size);

/* The next piece of help's paragraphs: of one that is to be filled all of it, of
 * lines that stay as they are one.  Returns where it ends, n bytes behind its
 * beginning; NULL: there is none.  *literal: it stays as it is. */
const char *help_piece(const char *text, size_t *n, bool *literal);

#endif
