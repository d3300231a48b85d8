/*
 * local.h - what the files of the `local` provider share.
 *
 * A machine is one `ray start --block` in a session of its own, with a
 * loopback address and a temp directory of its own, and a directory under
 * DIR/CLUSTER/ID with all that a later daemon needs to know:
 *   machine.json  who it is; written and synced before anything is started
 *   pid           process id and start time; written by the process itself
 *                 just before it becomes `ray`
 *   log           what ray start says
 * Handles are immutable after open(); the directory's lock orders the rest.
 */
#ifndef LOCAL_H
#define LOCAL_H

#include <sys/types.h>

#include "kit/join.h"
#include "kit/options.h"
#include "kit/text.h"

struct type {
    char *name, *machine;
    struct kit_list args; /* for ray start, the same for all of a type */
    struct kit_list env;  /* "NAME=value", the type's own */
};

struct local {
    const struct davit_host *host;
    struct kit_keep keep; /* of all of the below */
    char *cluster, *head, *ray, *dir, *temp;
    struct kit_list env, args;
    struct kit_list pass; /* names of the daemon's variables they get */
    struct type *types;
    size_t n_types;
    uint32_t base_address; /* host order */
    uint32_t max;
    double store; /* bytes of each raylet's object store */
};

struct record {
    char id[64], request_id[64], type[64], zone[64];
    char address[16];
    char temp[72];            /* Ray's temp dir; short, for its unix sockets */
    char mark[33];            /* in the environment of all its processes */
    char boot_id[40];         /* of the kernel it was started under */
    char join[KIT_JOIN_MARK]; /* not kept: what its node shows; "": nothing */
    bool spot, stopping;
    int64_t created_ms;
    pid_t pid; /* 0: never started */
    unsigned long long start;
};

/* options.c: settings and node types to arguments */
extern const struct kit_option local_options[];
int options_read(struct local *l, const struct davit_setup *s,
                 struct davit_error *e);

/* record.c: the directory of records */
/* Waits for it as long as the call lasts; *ret_fd is closed to let go. */
int records_lock(const struct local *l, struct davit_call *call, int *ret_fd,
                 struct davit_error *e);
int records_read(const struct local *l, struct record **ret, size_t *n,
                 struct davit_error *e);
int record_write(const struct local *l, const struct record *r,
                 struct davit_error *e);
/* Removes what a machine of this id may have left without a record. */
void record_clean(const struct local *l, const struct record *r);
void record_remove(const struct local *l, const struct record *r);
void record_path(const struct local *l, const struct record *r,
                 const char *file, char *buf, size_t n);
/* The last few lines of its log that say something, joined by "; ". */
void record_last_words(const struct local *l, const struct record *r, char *buf,
                       size_t n);

/* process.c: what runs */
int process_find_program(const struct local *l, char *buf, size_t n,
                         struct davit_error *e);
/* The records' lock goes with the child until that has become ray. */
int process_start(const struct local *l, const struct type *t,
                  const struct record *r, const char *program, int lock,
                  struct davit_error *e);
bool process_alive(const struct record *r);  /* the ray start itself */
bool process_joined(const struct record *r); /* its raylet listens */
void process_term(const struct record *r);
/* Sends sig (0: none) to every process of the machine; how many there are. */
unsigned process_family(const struct record *r, int sig);
void boot_id_read(char *buf, size_t n);

#endif
