/*
 * exec.h - what the files of the `exec` provider share.
 *
 * A handle owns one child process, which speaks JSON lines (docs/exec.md), and
 * one thread, its supervisor: only the supervisor starts, feeds, reads and ends the
 * child.  A worker that wants something hangs an `ask` into the handle's list,
 * wakes the supervisor and waits at the ask; answers are put() by the worker, since
 * a sink belongs to the thread that was called.  The handle's lock guards the
 * list of asks and what they hold, and is never held over I/O.
 */
#ifndef EXEC_H
#define EXEC_H

#include <jansson.h>
#include <pthread.h>
#include <sys/types.h>

#include "options.h"

enum {
    LINE_MAX_BYTES = 1 << 20,  /* of the child, without a line end */
    QUEUE_MAX_BYTES = 8 << 20, /* read, and not yet taken by workers */
    LEFT_MAX = 256,            /* unanswered asks whose worker has gone */
    WORDS_MAX = 160,           /* of its last line on stderr */
};

struct verdict { /* how something ended */
    int status;  /* enum davit_status */
    uint32_t retry_after_ms;
    char code[48], text[208];
};

struct line { /* one answer line, parsed */
    struct line *next;
    json_t *json;
    size_t bytes;
};

enum ask_state { ASK_QUEUED, ASK_SENT, ASK_DONE };

struct ask {          /* one request, until it is answered */
    struct ask *next; /* in order of their ids */
    uint64_t id;
    const char *op;
    char *args; /* the request's members after the id */
    enum ask_state state;
    bool left;  /* the worker has gone: the supervisor frees */
    bool hello; /* the supervisor's own */
    int64_t deadline_ms, sent_ms; /* monotonic */
    struct line *first, **last;   /* not yet taken */
    size_t bytes;                 /* of all its lines so far */
    struct verdict verdict;       /* when DONE */
    pthread_cond_t cond;
};

struct child {                    /* supervisor's */
    pid_t pid;                    /* 0: there is none; leads its group */
    int in, out, err, pidfd;      /* -1: closed; pidfd also: not to be had */
    bool greeted;                 /* hello was answered OK */
    uint64_t first_id;            /* the lowest it was asked */
    int64_t started_ms, heard_ms; /* last line on stdout */
    char *send;                   /* being written */
    size_t send_len, send_at;
    char *buf; /* read, no line end yet */
    size_t buf_len;
    char words[WORDS_MAX]; /* its last line on stderr */
    char partial[1000];    /* of a line on stderr */
    size_t partial_len;
};

struct exec {
    const struct davit_host *host;
    struct kit_keep keep;        /* of the settings */
    struct kit_list words, vars; /* argv and env as they grow */
    struct kit_list pass;        /* names of the daemon's variables */
    /* settings, immutable after open() */
    char **argv, **env; /* NULL-terminated; env: its own and some of ours */
    char *cwd;          /* NULL: the daemon's */
    char *hello;        /* as ask.args */
    char *shown;        /* the program's name, for people */
    int64_t timeout_ms, grace_ms; /* timeout 0: none of our own */
    int64_t settle_ms;
    uint32_t max_reply;
    /* under the lock */
    pthread_mutex_t lock;
    pthread_t supervisor;
    bool supervisor_runs, closing;
    enum { FINDS_UNKNOWN, FINDS, FINDS_NOT } finds; /* the last hello said so */
    int wake[2]; /* pipe; [1] is written by workers */
    struct ask *asks;
    uint64_t next_id;
    size_t queued_bytes;
    int64_t start_at_ms; /* not before */
    struct verdict why;  /* of the last fault */
    /* supervisor's */
    struct child child;
    unsigned faults;               /* in a row */
    int64_t log_room, log_room_ms; /* lines that may still be logged */
    uint64_t log_dropped;
};

/* options.c */
extern const struct kit_option exec_options[];
int options_read(struct exec *x, const struct davit_setup *s,
                 struct davit_error *e);
void options_done(struct exec *x);

/* supervisor.c */
int64_t mono_ms(void);
void *supervisor_run(void *exec);
void supervisor_wake(struct exec *x);
void ask_free(struct ask *a);
void verdict_set(struct verdict *v, int status, const char *code,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* child.c: what runs.  Called by the supervisor only. */
bool child_start(struct exec *x, struct verdict *why);
/* Logs what is on its stderr; false: that is closed. */
bool child_hear(struct exec *x);
bool child_exited(const struct child *c); /* it is not reaped by this */
/* Ends it and its whole group, and reaps it.  gently: by closing its stdin
 * first.  ret_how, of 100 bytes: "ended with exit code 1". */
void child_end(struct exec *x, bool gently, char *ret_how);
void child_log(struct exec *x, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* answer.c: the lines, read */
int status_of(const char *name); /* -1: there is no such */
/* The last line of an answer.  False: *v says what is wrong with it. */
bool verdict_read(const json_t *line, struct verdict *v);
/* Each reads one member of a line; NULL when good, else what is wrong. */
const char *machine_read(const json_t *o, struct davit_machine *m, char *room,
                         size_t n);
const char *offer_read(const json_t *o, struct davit_offer *ret,
                       struct kit_keep *keep, char *room, size_t n);

#endif
