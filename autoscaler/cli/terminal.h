/*
 * terminal.h - the one exit of all commands to people.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum colour { PLAIN, BOLD, DIM, GREEN, YELLOW, RED };

/* From here on standard output and standard error show nothing raw that a
 * terminal would obey: what text_plain() refuses, but for line ends and tabs,
 * comes out escaped, whoever prints it, in JSON too.  Before anything is
 * printed. */
void terminal_open(void);

bool terminal(void); /* standard output is one */
/* What switches to a colour, for these two streams only, or "". */
const char *colour(enum colour c);
/* $COLUMNS when it is a number, else how wide the terminal is; 0: no terminal,
 * nothing is cut. */
unsigned terminal_width(void);
unsigned terminal_height(void); /* 0: not known */
/* The first part of a text that is so many columns wide, in bytes; colours take
 * no room, a UTF-8 sequence takes one column. */
size_t terminal_cut(const char *text, size_t n, unsigned width);
/* A screen of its own, or the one before. */
void terminal_screen(bool own);
/* The text from the upper left corner on, each line cut to the width, no more
 * lines than there are; nothing else stays on the screen. */
void terminal_paint(const char *text);
/* The cursor goes up so many lines, and all below is cleared. */
void terminal_up(unsigned lines);

#endif
