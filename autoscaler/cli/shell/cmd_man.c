/*
 * cmd_man.c - writes the manual pages; for the Makefile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/outfile.h"
#include "../cli.h"
#include "../line/man.h"

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

/* "DIR/man1/NAME.1", opened; NULL after a message. */
static FILE *page_open(const char *name, int part, char path[4200])
{
    struct err err = {0};
    FILE *out;
    int fd;

    snprintf(path, 4200, "%s/man%d/%s.%d", args.folder, part, name, part);
    fd = outfile_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err);
    out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out)
        fprintf(stderr, "davit: %s\n", err.text);
    return out;
}

static bool page_close(FILE *out, const char *path)
{
    bool good = !ferror(out);

    good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "davit: %s: %s\n", path, strerror(errno));
    return good;
}

static bool page(const struct cli_command *c, const struct man_issue *issue)
{
    char path[4200], name[80];
    FILE *out;

    snprintf(name, sizeof name, "davit-%s", c->name);
    out = page_open(name, 1, path);
    if (!out)
        return false;
    man_command(out, c, issue);
    return page_close(out, path);
}

static bool other_page(const char *name, int part,
                       void (*write)(FILE *out, const struct man_issue *issue),
                       const struct man_issue *issue)
{
    char path[4200];
    FILE *out = page_open(name, part, path);

    if (!out)
        return false;
    write(out, issue);
    return page_close(out, path);
}

static int run(void)
{
    char buf[16];
    struct man_issue issue = {.version = DAVIT_VERSION, .date = day(buf)};
    bool good = other_page("davit", 1, man_list, &issue) &&
                other_page("davit.yaml", 5, man_settings, &issue);

    for (const struct cli_entry *e = cli_entries; good && e->command; e++)
        if (e->section)
            good = page(e->command, &issue);
    return good ? EXIT_OK : EXIT_REFUSED;
}

static const struct cli_option words[] = {
    {"DIR", .text = &args.folder, .takes = TAKES_FOLDER,
     .help = "where the folders man1 and man5 are"},
    {0}};

const struct cli_command cli_man = {.name = "__man",
                                    .help = "writes the manual pages",
                                    .words = words,
                                    .run = run};
