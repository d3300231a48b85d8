/*
 * cli.h - the commands of the one binary, as tables.
 *
 * A command is data: what it is called, which options and words it takes and
 * where each goes, what help says.  The parser (line/parse.h), `davit help`, the
 * man pages and the completions all read that table, so they cannot disagree.
 *
 * To add one:
 *   1. cmd_NAME.c: a static struct `args`, holding its defaults;
 *   2. `static const struct cli_option options[]`, ended by {0}: for each the
 *      name, perhaps a letter, help, and where its value goes, which says what it
 *      takes: .flag, .text, .time_ms, .number or .many;
 *   3. the same for words that are no options: `words[]`, names in capitals;
 *   4. `static int run(void)`: args is filled in; the exit code is returned;
 *   5. `const struct cli_command cli_NAME = {...}` with designated initializers;
 *      with .common = client_options, client_open() knows the daemon;
 *   6. a line below, one in commands.c, a part of docs/cli.md.
 * What options cannot say of one another, run() checks with cli_usage().
 * A command of two words ("journal check") is one of the .subs of its first.
 *
 * Exit codes are part of the interface: docs/cli.md lists them.  Thread: main.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../model/snapshot.h"

struct config;

enum {
    EXIT_OK = 0,
    EXIT_NO = 1,    /* understood, and the answer is no (infeasible ...) */
    EXIT_USAGE = 2, /* the command line */
    EXIT_INPUT = 3, /* a file or a value is wrong; reported with its place */
    EXIT_NO_DAEMON = 4, /* nobody answers at the address */
    EXIT_REFUSED = 5,   /* the daemon or a provider refused or failed */
};

/* What a text names, for completion. */
enum cli_takes {
    TAKES_TEXT,
    TAKES_FILE,
    TAKES_FOLDER,
    TAKES_KEY,  /* of the configuration */
    TAKES_TYPE, /* of nodes; this and the following are asked of the daemon */
    TAKES_NODE,
    TAKES_OWNER,
    TAKES_SUBJECT, /* of `davit why`: a node or an owner */
};

/* In the order in which they were given; n is 0 when none was. */
struct cli_list {
    char **v;
    uint32_t n;
};

/* An option, or a word that is none.  Strings are static. */
struct cli_option {
    const char
        *name;   /* "owner" for --owner; of a word as help shows it: "NODE" */
    char letter; /* 'o' for -o; 0: none */
    const char *value; /* of an option, as help shows it; NULL: "TIME", "N" ... */
    /* Where it goes: one of these.  What the variable holds is the default. */
    bool *flag; /* takes nothing */
    const char **text;
    int64_t *time_ms;      /* "90s", "2h" */
    int64_t *number;       /* whole */
    struct cli_list *many; /* texts, the option repeated; of words the last one */
    int64_t least, most;   /* of a time (ms) or a number, unless both are 0;
                          * most of a list: how many, 0: any number */
    enum cli_takes takes;
    const char *const *choices; /* of a text: no other, NULL at the end */
    const char *env;  /* of a text: used when the option is not given */
    bool optional;    /* of a word */
    const char *help; /* any length, without line ends */
};

struct cli_example {
    const char *command, *what;
};

struct cli_command {
    const char *name;                 /* "plan", "journal check" */
    const char *help;                 /* one line */
    const struct cli_option *options; /* these three end with {0}, may be NULL */
    const struct cli_option *common; /* options it shares with other commands */
    const struct cli_option *words;
    int (*run)(void);
    const char *details; /* paragraphs with an empty line between them; a line
                          * that begins with a blank stays as it is; or NULL */
    const struct cli_example *examples;    /* {0} at the end, or NULL */
    const struct cli_command *const *subs; /* in place of run; NULL at the
                                                   * end */
};

extern const struct cli_command cli_run, cli_plan, cli_request, cli_status,
    cli_nodes, cli_why, cli_validate, cli_doctor, cli_providers, cli_catalogue,
    cli_journal, cli_sidecar, cli_simulate, cli_version, cli_apply, cli_release,
    cli_adopt, cli_approve, cli_forget, cli_token, cli_shadow, cli_completion,
    cli_complete, cli_man, cli_settings, cli_init, cli_protect, cli_unprotect,
    cli_cordon, cli_uncordon, cli_drain, cli_top, cli_events, cli_cost;

/* All of them, in the order of help; NULL command at the end. */
struct cli_entry {
    const char *section; /* its heading in help; NULL: not for people */
    const struct cli_command *command;
};
extern const struct cli_entry cli_entries[];

/* A message to stderr, then how the command is used; EXIT_USAGE. */
int cli_usage(const struct cli_command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a file of at most 256 MiB; "-" is standard input.  The text is in the
 * arena, NUL-terminated. */
enum status cli_read(const char *path, struct arena *a, char **ret, size_t *n,
                     struct err *err);
/* A configuration; NULL after its mistakes were printed to stderr. */
struct config *cli_config(const char *path);
/* A reply for programs, on standard output. */
void cli_json(const json_t *v);

#endif
