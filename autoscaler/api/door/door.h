/*
 * door.h - the clients of the HTTP servers: who they are, what they hold, and
 * when their time is over.
 *
 * libmicrohttpd closes a connection that is silent.  One that sends a byte now
 * and then it keeps for ever, and when all places are taken it accepts nobody.
 * Here every connection has a seat, whose phase says whom it waits for, with an
 * absolute deadline; a newcomer to a full house takes the seat of the client
 * that holds the most.  One budget of bytes is shared by all bodies, what is
 * made of them, and replies on their way, with a share for each caller.
 *
 * All functions may be called on any thread.
 */
#ifndef API_DOOR_DOOR_H
#define API_DOOR_DOOR_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct door;
struct peer; /* a client: an IPv4 address, an IPv6 /64, or a local user */
struct seat; /* one of its connections */

enum door_port { DOOR_API, DOOR_METRICS, DOOR_PORTS };

/* Bytes that all requests and replies together may hold; one caller with all of his
 * accounts; one of them: the largest request has room beside it; replies that many
 * read.  Nobody comes to hold more than twice what he leaves to others, so each has
 * some however many are greedy, and for those with few there is a rest. */
#define DOOR_BYTES_MAX ((size_t)96 << 20)
#define DOOR_BYTES_CALLER ((size_t)44 << 20)
#define DOOR_BYTES_ACCOUNT ((size_t)40 << 20)
#define DOOR_BYTES_SHARED ((size_t)24 << 20)
#define DOOR_BYTES_REST ((size_t)12 << 20)
#define DOOR_BYTES_FEW ((size_t)512 << 10)
/* Libmicrohttpd's own limit is above ours by so many for each of its threads:
 * seats that are given up already, but not closed yet. */
#define DOOR_MARGIN 64
#define DOOR_METRICS_SEATS 256

/* max: connections to the API at once; a client may have three quarters. */
struct door *door_new(uint32_t max);
/* After the servers that use it have been stopped. */
void door_free(struct door *d);

/* ---- seats.c: for MHD_OPTION_NOTIFY_CONNECTION, with door_arg() */
void *door_arg(struct door *d, enum door_port port);
void door_notify(void *arg, struct MHD_Connection *connection, void **context,
                 enum MHD_ConnectionNotificationCode what);

enum seat_phase {
    SEAT_HEADER, /* accepted; no request yet */
    SEAT_IDLE,   /* replied; the next request may come */
    SEAT_BODY,
    SEAT_WORK, /* it waits for us */
    SEAT_REPLY,
    SEAT_STREAM,  /* a reply without an end */
    SEAT_LEAVING, /* of one that was ended: what is out may still be taken */
    SEAT_PHASES
};
/* NULL: libmicrohttpd has none for it (then nothing below does anything). */
struct seat *seat_of(struct MHD_Connection *connection);
void seat_enter(struct seat *s, enum seat_phase phase);
/* Its caller has shown who he is, as caller_share() says it; NULL: he has not.  A
 * stranger's seat goes first, and at one address that of who crowds it (seats.c). */
void seat_prove(struct seat *s, const char *who);
struct peer *seat_peer(struct seat *s); /* lives as long as the seat */
enum door_port seat_port(const struct seat *s);
/* Which user of this machine has the other end?  See local.h; asked once. */
bool seat_user(struct seat *s, uid_t *ret);
/* How many connections were ended because their time was over, or for others.
 */
uint64_t door_late(const struct door *d);
uint64_t door_evicted(const struct door *d);

#if MHD_VERSION < 0x01001000
#error "libmicrohttpd 1.0.10 or later is needed: configs/libmicrohttpd.sh"
#endif
/* Of MHD_OPTION_CLIENT_DISCIPLINE_LVL: everything that RFC 9112 lets a server
 * refuse is refused: a bare LF, a NUL, blanks where none belong. */
#define DISCIPLINE 2

/* ---- strict.c: what libmicrohttpd lets pass though two programs could read it
 * differently, so that a proxy before us may be deceived */
/* For MHD_OPTION_URI_LOG_CALLBACK: what becomes the exchange's context. */
void *strict_uri(void *arg, const char *uri, struct MHD_Connection *connection);
/* Is the context one that strict_uri() gave? */
bool strict_is_mark(const void *context);
/* What is wrong with the request; NULL: nothing.  The connection must be closed
 * after the refusal. */
const char *strict_fault(struct MHD_Connection *connection, const void *context,
                         const char *version);

/* ---- budget.c */
/* A charge is of one caller and his account, or of nobody.  Callers of one address
 * are told apart as soon as they are known; until then the address is one. */
enum { CHARGE_PURSES = 2 }; /* the caller, the account */
struct purse;
struct charge {
    struct door *door;
    struct purse *purses[CHARGE_PURSES];
    size_t n;
};
/* False: it would be too much, and nothing is charged.  who: of the first call for
 * this charge; NULL: of all, who share it. */
bool charge_add(struct charge *c, struct door *d,
                const char *const who[CHARGE_PURSES], size_t n);
void charge_drop(struct charge *c);
size_t door_bytes(struct door *d);
/* A reply that is charged until libmicrohttpd drops it; takes over text (heap)
 * in any case.  shared: with others, as long as they have room.  NULL: it would be
 * too much. */
struct MHD_Response *charged_response(struct door *d,
                                      const char *const who[CHARGE_PURSES],
                                      bool shared, char *text, size_t n);

/* ---- logins.c: tokens that are wrong
 *
 * After thirty wrong ones at once, then thirty a minute, a client's tokens that
 * are not known are refused without asking anybody about them.  Those that are
 * known are looked up before this: who has one is never kept out by others at his
 * address. */
bool login_may(struct door *d, struct peer *p);
void login_bad(struct door *d, struct peer *p);
uint64_t logins_failed(const struct door *d);
uint64_t logins_throttled(const struct door *d);

/* ---- peers.c */
const char *peer_name(const struct peer *p); /* "10.0.0.7", "uid 1000" */
/* Is it a user of the Unix socket, and which? */
bool peer_user(const struct peer *p, uid_t *ret);

#endif
