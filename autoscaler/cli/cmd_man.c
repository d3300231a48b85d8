/*
 * cmd_man.c - writes the manual pages; for the Makefile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "line/man.h"

static struct {
    const char *folder;
} args;

/* The day of the build, or that of $SOURCE_DATE_EPOCH
 * (reproducible-builds.org/specs/source-date-epoch). */
static const char *day(char buf[16])
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    time_t t = given && *given ? (time_t)strtoll(given, NULL, 10) : time(NULL);
    struct tm tm;

    gmtime_r(&t, &tm);
    strftime(buf, 16, "%Y-%m-%d", &tm);
    return buf;
}

/* One page; NULL: davit(1). */
static bool page(const struct cli_command *c, const struct man_issue *issue)
{
    char path[4200];
    FILE *out;
    bool good;

    snprintf(path, sizeof path, "%s/davit%s%s.1", args.folder, c ? "-" : "",
             c ? c->name : "");
    out = fopen(path, "w");
    if (out && c)
        man_command(out, c, issue);
    else if (out)
        man_list(out, issue);
    good = out && !ferror(out);
    good = out && fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "davit: %s: %s\n", path, strerror(errno));
    return good;
}

static int run(void)
{
    char buf[16];
    struct man_issue issue = {.version = DAVIT_VERSION, .date = day(buf)};
    bool good = page(NULL, &issue);

    for (const struct cli_entry *e = cli_entries; good && e->command; e++)
        if (e->section)
            good = page(e->command, &issue);
    return good ? EXIT_OK : EXIT_REFUSED;
}

static const struct cli_option words[] = {
    {"DIR", .text = &args.folder, .takes = TAKES_FOLDER,
     .help = "where the pages are written"},
    {0}};

const struct cli_command cli_man = {.name = "__man",
                                    .help = "writes the manual pages",
                                    .words = words,
                                    .run = run};
