/*
 * man.h - the manual pages, made of the commands' tables.
 *
 * In the language of man(7), which groff and mandoc read.  Thread: main.
 */
#ifndef CLI_LINE_MAN_H
#define CLI_LINE_MAN_H

#include <stdio.h>

#include "../cli.h"

/* What stands in the heading of each page. */
struct man_issue {
    const char *version, *date; /* "2026-11-22" */
};

/* davit(1): all commands, exit codes, environment. */
void man_list(FILE *out, const struct man_issue *issue);
/* davit.yaml(5): every key of the settings, from the tables that read them. */
void man_settings(FILE *out, const struct man_issue *issue);
/* davit-NAME(1), with its sub-commands. */
void man_command(FILE *out, const struct cli_command *c,
                 const struct man_issue *issue);

#endif
