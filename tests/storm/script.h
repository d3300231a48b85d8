/*
 * script.h - what is to happen in a world, as a list: it can be drawn from a
 * seed, written down, read again, shortened and played.
 */
#ifndef STORM_SCRIPT_H
#define STORM_SCRIPT_H

#include <stdio.h>

#include "world.h"

/*   kind, word; what a, b, c mean */
#define HAPPENING_MAP(X) \
    X(WEATHER, "weather") /* a: cloud */ \
    X(SPOILS, "spoils")   /* a: cloud; b: its call, from now */ \
    X(HEAD, "head")       /* a: enum head_trouble */ \
    X(LOSSY, "lossy")     /* a: of 1,000 */ \
    X(SESSION, "session") /* the head begins anew */ \
    X(DIES, "dies")       /* a: machine, by chance; b: how many */ \
    X(TAKEN, "taken")     /* a: machine; b: ms of notice */ \
    X(REBOOTS, "reboots") /* a: machine; b: ms */ \
    X(RAYLET, "raylet")   /* a: machine: its node dies and joins again */ \
    X(ADDED, "added")     /* a: machine like which there is one more */ \
    X(ASKS, "asks")       /* a: owner; text */ \
    X(TASKS, "tasks")     /* a: how many; b: together; c: ms; text: of what */ \
    X(FILE, "file")       /* a: which of the settings */ \
    X(KILLED, "killed")   /* a: power too; b: what survives */ \
    X(KILLED_AT, "killed-at") /* a: disk changes from now; b: what survives */ \
    X(RESTARTS, "restarts")   /* SIGTERM, and a start */ \
    X(FULL, "full")           /* a: the disk is */ \
    X(READONLY, "read-only")  /* a: the disk is */ \
    X(DISK_FAILS, "disk-fails") /* a: disk changes from now */ \
    X(CLOCK, "clock")           /* a: ms, b: back */ \
    X(SECOND, "second")         /* a: the second daemon runs */ \
    X(VERSION, "version") /* a: an older davit ran for a while, or newer */ \
    X(SLEEPS, "sleeps")   /* a: ms: the computer does */ \
    X(CALM, "calm")       /* all weather, trouble and disk faults end */ \
    X(TOUCHED, \
      "touched") /* the same file is saved again: a times, each b ms */ \
    X(FORGETS, \
      "forgets")      /* the head forgets drains that it agreed to; a: ms: \
                           * and will */ \
    X(STORE, "store") /* a: enum store_fault */ \
    X(NAMES, "names") /* a: machine; b: enum head_names; c: ms */ \
    X(LEADER, \
      "leader") /* a: 0: it stands still, b ms; else enum lease_trouble \
                         * of its lease, and 1 */

enum happening_kind {
#define HAPPENING_ENUM_(kind, word) HAPPENS_##kind,
    HAPPENING_MAP(HAPPENING_ENUM_)
#undef HAPPENING_ENUM_
        HAPPENINGS
};

struct happening {
    int64_t at_ms; /* of the world */
    enum happening_kind kind;
    uint32_t a, b, c;
    char text[96];
    struct cloud_weather weather;
};

enum { FILES_MOST = 6 };
struct script {
    struct world_opts world; /* settings: files[0] */
    char *files[FILES_MOST]; /* heap */
    uint32_t n_files;
    struct happening *v; /* heap, by time */
    uint32_t n;
    int64_t storm_ms; /* then all is calm, and must settle */
    bool plain;  /* one type, requests for whole machines of it: law 5 counts */
    bool edited; /* files change more than limits */
    bool leave;  /* at the end all requests are taken back */
    bool judged; /* law 9: it is played again without consolidation, too */
    uint32_t gone; /* that cloud, from 1 on, is down for good when all is calm */
};

void script_free(struct script *s);
void script_write(const struct script *s, FILE *f);
/* False: it cannot be read; says why. */
bool script_read(struct script *s, FILE *f, char *why, size_t n);

/* One line of it, of so many bytes; false: it makes no sense. */
bool script_line(struct script *s, const char *line, size_t n);

/* ---- draw_more.c: what was thought of later, in some worlds; from a stream of
 * chance of its own, so that all others stay as they are. */
void script_draw_more(struct script *s, uint64_t seed);

/* ---- draw.c: seeds below SEEDS_LONG give storms of an hour or so, others of up
 * to thirty. */
enum { SEEDS_LONG = 1000000 };
void script_draw(struct script *s, uint64_t seed);
/* What its authors did not imagine, each a dimension that can be switched off.
 * name, word; X is asked in this order, which is that of --doubts' bits. */
#define DOUBTS(X) \
    X(HOSTS, "hosts") /* ids are given again */ \
    X(IDS, "ids")     /* answers of launches have other ids than lists */ \
    X(LIES, "lies")   /* a list says once that a machine failed, or ends */ \
    X(DROPS, "drops") /* a list lacks a machine once */ \
    X(NAMES, "names") /* names are ambiguous, vanish, change */ \
    X(HEADS, "heads") /* another head answers */ \
    X(FORGETS, "forgets") /* the head forgets drains */ \
    X(SLOW, "slow") /* syncs, lines of the log, closings take a minute */ \
    X(RESTLESS, "restless") /* details and addresses that change for ever */ \
    X(YOUNG, "young")       /* raylets and kubelets die young */ \
    X(TOUCHED, "touched")   /* the same file is saved again and again */ \
    X(STORE, "store")       /* somebody is at what is written down */ \
    X(FLIPS, "flips")       /* prices change places */ \
    X(KUBE, "kube")         /* the head is an API server */ \
    X(FINDS, "finds")       /* clouds are asked by id; many are gone at once */
enum doubt {
#define DOUBT_(name, word) DOUBT_##name,
    DOUBTS(DOUBT_)
#undef DOUBT_
};
/* Which of them there may be, a bit each; first: all. */
void draw_doubts(uint32_t most);
bool draw_without(const char *word); /* false: there is none of that name */
bool draw_allows(enum doubt d);

/* ---- play.c */
struct played {
    int law; /* broken; 0 none */
    char violation[512];
    uint64_t digest, faults, steps;
    int64_t ms; /* played */
    uint32_t launched, ended, acknowledged, dropped;
    uint64_t sentences[SENTENCES], arrivals; /* truth.c */
    double bill;                             /* micros */
    uint32_t calls[WORLD_CLOUDS]; /* of each cloud, in the storm, after the
                                   * first minute */
};
/* keep: which happenings (NULL: all); trace: all events are printed. */
void script_play(const struct script *s, const bool *keep, bool trace,
                 struct played *ret);

/* ---- shrink.c: which happenings still break that law.  keep has one per
 * happening; returns how many are left. */
uint32_t script_shrink(const struct script *s, int law, bool *keep,
                       uint32_t tries);

#endif
