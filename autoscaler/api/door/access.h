/*
 * access.h - who may do what: the lines of api.tokens.
 *
 * A line is NAME CREDENTIAL RIGHT...; docs/api.md has the whole of it:
 *
 *     ci       sha256:9f86d081...  read request:ci-*,eval-* queues:a100
 *     ops      sha256:60303ae2...  admin until:2027-01-31
 *     backup   user:backup         read
 *     front    cert:front.example  request:*
 *
 * A file, or a folder of such files.  It is read again when it changes; what
 * has a mistake is not taken over, the lines before stay in force, and
 * access_problem() says so until it is mended.
 */
#ifndef API_DOOR_ACCESS_H
#define API_DOOR_ACCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "../../base/arena.h"
#include "../../base/err.h"

enum { ACCESS_NAME_MAX = 64, ACCESS_DIGEST = 32 };

enum access_kind { ACCESS_TOKEN, ACCESS_USER, ACCESS_CERT };

/* What a name in a certificate is: authorities check each kind in a way of its
 * own, so one is never taken for another. */
enum cert_kind { CERT_DNS, CERT_URI, CERT_EMAIL, CERT_CN, CERT_KINDS };
extern const char *const cert_kinds[CERT_KINDS]; /* "dns" ... */

struct patterns {
    const char *const *v; /* "train-*": * stands for any text */
    uint32_t n;
};

struct principal {
    const char *name;
    enum access_kind kind;
    unsigned char digest[ACCESS_DIGEST]; /* TOKEN: SHA-256 of it */
    uid_t uid;                           /* USER */
    const char *cert;                    /* CERT: a pattern, of names of */
    unsigned cert_kinds;                 /* these kinds, a bit each */
    bool read, admin;
    struct patterns owners; /* whose requests; n == 0: nobody's */
    struct patterns queues; /* n == 0: all, and none named */
    bool has_priority;      /* of a request: at most this much */
    int32_t priority_max;
    int64_t until_ms; /* wall; 0: for ever */
    const char *file; /* and where it stands in it */
    uint32_t line;
};

/* One state of the files; immutable, counted. */
struct access {
    struct arena arena;
    uint32_t refs;
    const struct principal *v;
    uint32_t n;
};

/* The text of one file, appended to *ret; the file's name is for errors.
 * INVALID: "tokens:3: ...". */
struct access_list {
    struct principal *v;
    uint32_t n, cap;
};
enum status access_parse(struct arena *a, const char *file, const char *text,
                         struct access_list *ret, struct err *err);
/* All of a file or folder. */
enum status access_read(const char *path, struct arena *a,
                        struct access_list *ret, struct err *err);

/* ---- the files as they are now */
struct access_store;
enum status access_open(const char *path, struct access_store **ret,
                        struct err *err);
void access_close(struct access_store *s); /* s may be NULL */
/* Reads what has changed; once a second, by one thread. */
void access_refresh(struct access_store *s);
/* "" or why the newest files are not in force; buf of n bytes. */
const char *access_problem(struct access_store *s, char *buf, size_t n);
struct access *access_get(struct access_store *s);
void access_ref(struct access *a);
void access_unref(struct access *a); /* a may be NULL */

/* ---- NULL: nobody */
const struct principal *access_by_token(const struct access *a,
                                        const unsigned char digest[32],
                                        int64_t wall_ms);
const struct principal *access_by_user(const struct access *a, uid_t uid,
                                       int64_t wall_ms);
const struct principal *access_by_cert(const struct access *a,
                                       enum cert_kind kind, const char *name,
                                       int64_t wall_ms);

/* May it read everything? */
bool principal_reads(const struct principal *p);
/* What a source of demand asks for has its name as owner, "ray" or "kubernetes": where
 * that is asked for and cleared; NULL: it is nobody's.  No pattern stands for it. */
const char *owner_of_source(const char *owner);
/* May it ask, and clear, for this owner? */
bool principal_asks(const struct principal *p, const char *owner);
/* May a request of it name this queue ("": none)? */
bool principal_queues(const struct principal *p, const char *queue);
/* May a request of it have this priority? */
bool principal_outranks(const struct principal *p, int32_t priority);
/* The line of that name, if its time is not over. */
const struct principal *access_named(const struct access *a, const char *name,
                                     int64_t wall_ms);
/* Who shares with himself alone, by what the audit says of a caller.  Of a ServiceAccount
 * that is its namespace, which may have many of them; where anybody may, the address. */
const char *share_of(const char *via, const char *name, const char *from,
                     char *buf, size_t n);
/* "read request:ci-* queues:a100": its rights as written; in the arena. */
const char *principal_rights(const struct principal *p, struct arena *a);

#endif
