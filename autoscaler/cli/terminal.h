/*
 * terminal.h - the one exit of all commands to people.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>

enum colour { PLAIN, BOLD, DIM, GREEN, YELLOW, RED };

/* From here on standard output and standard error show nothing raw that a
 * terminal would obey: what text_plain() refuses, but for line ends and tabs,
 * comes out escaped, whoever prints it, in JSON too.  Before anything is
 * printed. */
void terminal_open(void);

bool terminal(void); /* standard output is one */
/* What switches to a colour, for these two streams only, or "". */
const char *colour(enum colour c);
/* The cursor goes up so many lines, and all below is cleared. */
void terminal_up(unsigned lines);

#endif
