/*
 * contract.h - what the two halves of check_provider share: bench.c sets a
 * provider up from the command line and runs calls on it, laws.c holds the laws
 * every provider must keep, and check_provider.c is the program.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "cloud/cloud.h"
#include "wire/http.h"

#define TYPES_MAX 16
#define OPTIONS_MAX 64
#define FAULTS_MAX 16

struct fault {
    enum status want;
    const char *command;
};

struct bench {
    struct config config;
    struct conf_provider conf;
    struct conf_pair options[OPTIONS_MAX];
    struct conf_type types[TYPES_MAX];
    struct snap_offer offers[TYPES_MAX][8];
    struct qty amounts[TYPES_MAX][8];
    struct pair labels[TYPES_MAX][8];
    struct conf_pair type_options[TYPES_MAX][16];
    struct fault faults[FAULTS_MAX];
    uint32_t n_faults;
    const char *heal;    /* command that undoes the faults */
    const char *partial; /* command: there is room for one or two */
    const char *lose;    /* command: the next launch's reply is lost */
    int64_t ready_ms, gone_ms, call_ms, settle_ms;
    char dir[256]; /* scratch */
    /* at work */
    struct provider *p;
    struct mailbox box;
    struct mail *mails; /* taken, not looked at yet */
    struct workers *workers;
    uint32_t requests; /* ids used so far */
    char wrong[600];   /* why the law at hand is broken, "" */
    /* the n-th HTTP exchange from now on goes wrong */
    atomic_int tap_at, tap_seen;
    atomic_int unanswered; /* exchanges that the cloud itself left so */
    enum tap_how {
        TAP_UNSENT, /* the request does not arrive */
        TAP_LOST,   /* the server has done it, the reply is lost */
        TAP_503,    /* ... and says that it is not there now */
        TAP_CUT,    /* ... and half of the reply is cut off */
        TAP_EMPTY,  /* ... and the reply has no body */
        TAP_HOWS,
        TAP_HANG /* nothing comes before the exchange's time is over */
    } tap_how;
};

#define SPOILT "by the contract suite" /* in what a tap makes up */

void bench_begin(struct bench *b);
void bench_end(struct bench *b);
bool bench_open(struct bench *b); /* false: b->wrong says why */
bool bench_shell(struct bench *b, const char *command);
/* Notes that the law at hand is broken; the first finding is kept. */
void bench_wrong(struct bench *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls.  Each checks that the answer comes in time and is not BROKEN. */
struct call *bench_launch_new(struct bench *b, uint32_t count,
                              const char *request);
void bench_submit(struct bench *b, struct call *c, int64_t ms);
struct call *bench_take(struct bench *b);
struct call *bench_run(struct bench *b, struct call *c);
struct call *bench_list(struct bench *b); /* NULL: it kept failing */
struct call *bench_end_once(struct bench *b, const char *const *ids,
                            uint32_t n);
struct call *bench_end_ids(struct bench *b, const char *const *ids,
                           uint32_t n); /* repeats RETRY and THROTTLED */
enum status bench_launch(struct bench *b, uint32_t count, const char *request);
const char *bench_request(struct bench *b); /* a fresh id; lives to the end */

/* Machines of this request (NULL: of any) that are not STOPPING or FAILED. */
uint32_t bench_count(struct bench *b, const char *request);
/* Waits until there are n of them, and sees that there come no more. */
bool bench_settles(struct bench *b, const char *request, uint32_t n);
/* Repeats a launch until it is OK, at most `tries` times. */
bool bench_insist(struct bench *b, uint32_t count, const char *request,
                  int tries);
bool bench_clear(struct bench *b); /* ends everything */

struct law {
    const char *name, *text;
    void (*run)(struct bench *b);
};
void law_console(struct bench *b); /* console.c */
void law_find(struct bench *b);    /* find.c */
extern const struct law laws[];    /* ends with {0} */
#define LAWS_BASE 2 /* while one of the first is broken no other tells much */

#endif
