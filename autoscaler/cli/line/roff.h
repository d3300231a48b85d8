/*
 * roff.h - text in the language of man(7): what is special in it is escaped.
 * Thread: main.
 */
#ifndef CLI_LINE_ROFF_H
#define CLI_LINE_ROFF_H

#include "man.h"

void roff_bold(FILE *out, const char *text); /* these two without line end */
void roff_italic(FILE *out, const char *text);
/* Filled text, in lines that are not long. */
void roff_prose(FILE *out, const char *text);
/* Lines that stay as they are, between .nf and .fi. */
void roff_literal(FILE *out, const char *text);
/* Help's paragraphs (help_piece()). */
void roff_paragraphs(FILE *out, const char *text);
/* Title and NAME of a page in part 1 or 5 of the manual. */
void roff_heading(FILE *out, const char *name, const char *help, int part,
                  const struct man_issue *issue);

#endif
