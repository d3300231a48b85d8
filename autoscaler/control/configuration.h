/*
 * configuration.h - the generation of settings in force, and when to read
 * another one.
 *
 * Where they are read from: a file, which whoever drives the loop watches, or a
 * RayCluster, which is looked at every few seconds.  reload.h takes a new generation over.
 * Reads and changes nothing else.  Control thread only.
 */
#ifndef CONTROL_CONFIGURATION_H
#define CONTROL_CONFIGURATION_H

#include "../config/config.h"
#include "config_source.h"
#include "env.h"

struct configuration {
    struct env *env;
    const char *path;             /* of the file; for people in any case */
    struct config_source *source; /* what is read in its place; NULL.  Borrowed */
    struct config *now;           /* in force; a reference */
    uint32_t generation;
    int64_t loaded_ms;    /* wall */
    char *problem;        /* why the last one was refused; "" ; heap */
    bool held;            /* the problem is one that a person may overrule, */
    bool in_force;        /* held since a start: all but what it ends is */
    uint64_t held_digest; /* of its text */
    char *held_ends; /* the machines that it would end, a blank between; heap */
    bool approved;   /* and did, of that text, */
    bool shown;      /* ... and of these ends alone */
    bool another;    /* what was approved is not what was read then */
    bool wanted;     /* somebody asked for a reload */
    bool asked;      /* a person did: `davit reload`, `davit apply` */
    int64_t settled_ms;     /* mono: a changed file settles first; 0 */
    bool reading;           /* the source is with a worker */
    int64_t read_due_ms;    /* mono */
    uint32_t read_failures; /* in a row */
};

/* Takes conf. */
void configuration_open(struct configuration *c, struct env *env,
                        const char *path, struct config_source *source,
                        struct config *conf);
void configuration_close(struct configuration *c);

/* The type of this name, or NULL. */
const struct conf_type *type_find(const struct config *conf, const char *name);

/* Looks whether others may read the secrets of its file, or write it. */
void configuration_exposed(const struct config *c);

/* The next step reads it again: a person asks for it. */
void configuration_ask(struct configuration *c);
/* The next step reads it again, not before settle_ms from now. */
void configuration_reload(struct configuration *c, int64_t settle_ms);
/* Is it time to read another generation?  Asks once for each. */
bool configuration_due(struct configuration *c);
/* Reads it, whole or not at all: see config_load(). */
enum status configuration_read(const struct configuration *c,
                               struct config **ret, struct buf *errors);
/* It stays as it is, for this reason. */
void configuration_refuse(struct configuration *c, const char *why);
/* The same until a person approves of it (`davit apply`). */
void configuration_hold(struct configuration *c, const struct config *conf,
                        const char *why, const char *ends);
/* A start put it in force: what it would end is held likewise. */
void configuration_hold_ends(struct configuration *c, const char *why,
                             const char *ends);
/* They are wanted no more. */
void configuration_ends_over(struct configuration *c);
/* A person has agreed to what it ends; a later file is refused still. */
void configuration_ends_approved(struct configuration *c);
/* It is read again and, if it is what was held, taken over whatever it would
 * end; shown: what it was said to end, and no other machine. */
void configuration_approve(struct configuration *c, bool shown);
enum { CONFIGURATION_DIGEST = 17 };
/* Of the text that is held, for people and programs; "": none is. */
void configuration_digest(const struct configuration *c,
                          char ret[CONFIGURATION_DIGEST]);
/* Is each of these names, with a blank between, one of those that it was said to
 * end? */
bool configuration_ends_shown(const struct configuration *c, const char *names);
/* Is that it? */
bool configuration_approved(const struct configuration *c,
                            const struct config *conf);
/* Takes conf. */
void configuration_replace(struct configuration *c, struct config *conf);

/* Looks at the RayCluster when it is time, and folds what came of it. */
void configuration_poll(struct configuration *c);
void configuration_fold(struct configuration *c, struct mail *mail);

#endif
