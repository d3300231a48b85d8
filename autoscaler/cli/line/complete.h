/*
 * complete.h - what may stand where the cursor is, from the commands' tables.
 *
 * The shells' scripts (cmd_completion.c) hand the words in and show what comes
 * out, so that all three complete the same.  Thread: main.
 */
#ifndef CLI_LINE_COMPLETE_H
#define CLI_LINE_COMPLETE_H

#include "../cli.h"

/* What is typed already, and what else fits. */
struct completion {
    const char *word;     /* the last word, as far as it is there */
    size_t n_before;      /* bytes of it before the value: of "--owner=" */
    enum cli_takes takes; /* names of this kind fit there too */
    void (*add)(const char *word, size_t n_before, const char *value,
                const char *about); /* one that fits: n_before bytes of word,
                                     * then value */
};

/* words: all behind "davit", the last one unfinished, perhaps "".  Calls c->add
 * for what the tables say and sets the rest of *c.  Texts of options that stand
 * there already are in their variables afterwards (--url ...). */
void complete(int n, char **words, struct completion *c);
/* Adds a value that begins as what is typed does. */
void complete_value(const struct completion *c, const char *value,
                    const char *about);

#endif
