/*
 * parse.h - the words of a command line into the variables of its table.
 *
 * As getopt_long() has it: `--name value`, `--name=value`, `-n value`, `-nvalue`,
 * letters without a value together (`-nv`), options after words, `--` ends them.
 * Names are not cut short.  Thread: main.
 */
#ifndef CLI_LINE_PARSE_H
#define CLI_LINE_PARSE_H

#include "../cli.h"

enum { CLI_ASKS_HELP = -1 };

/* argv[0] is not looked at; lists keep pointers into argv.  EXIT_OK; EXIT_USAGE
 * after a message that says what is allowed; CLI_ASKS_HELP for --help and -h. */
int cli_parse(const struct cli_command *c, int argc, char **argv);

/* The option of the command, common ones too, that has this name (n bytes) or
 * letter; NULL: none. */
const struct cli_option *cli_option_named(const struct cli_command *c,
                                          const char *name, size_t n);
const struct cli_option *cli_option_letter(const struct cli_command *c,
                                           char letter);

/* The command of these words ("journal", "check"), and in *used how many of them
 * name it; NULL after a message with the nearest name. */
const struct cli_command *cli_find(int n, char **words, int *used);
/* others.c: of a word that other programs have for a command, what does that here; NULL:
 * it is none. */
const char *cli_other_word(const char *word);

#endif
