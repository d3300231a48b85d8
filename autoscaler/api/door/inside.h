/*
 * inside.h - what the files of this folder share.  All of it is under the
 * door's lock, but what is said to be constant.
 */
#ifndef API_DOOR_INSIDE_H
#define API_DOOR_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "door.h"

enum { PEERS_KEPT = 4096 };

struct peer {
    struct peer *next;
    unsigned char key[18]; /* constant, with the name */
    char name[64];
    uint32_t refs; /* seats */
    uint32_t seats[DOOR_PORTS];
    uid_t uid; /* constant; of a local user */
    /* logins.c */
    int64_t debt_ms; /* mono: when all failed logins are forgotten */
    int64_t keep_ms; /* mono: not forgotten before */
    int64_t told_ms; /* mono, when failures were logged last */
    uint32_t untold;
};

struct seat {
    struct door *door; /* constant, with the three after it */
    struct peer *peer;
    enum door_port port;
    int fd;
    struct seat *next, **link;
    enum seat_phase phase;
    int64_t since_ms;  /* mono, when the phase began */
    bool ended;        /* shut down; libmicrohttpd closes it */
    bool proven;       /* its caller has shown who he is, */
    uint64_t who;      /* a hash of that; 0: a stranger */
    bool asked, known; /* seat_user(): of the thread that serves it */
    uid_t user;
    uint64_t spared; /* the round in which it was not to go */
};

struct port {
    struct door *door;
    enum door_port which;
    uint32_t n, max, per_peer; /* n without those that are ended */
};

struct door {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* there is a seat, or the end */
    pthread_t watch;
    bool stop;
    struct peer *peers;
    uint32_t n_idle; /* of them, without a reference */
    uint64_t round;  /* of looking for one that may go */
    struct seat *seats;
    struct port ports[DOOR_PORTS];
    size_t bytes;
    struct purse *purses; /* budget.c */
    atomic_ullong late, evicted, logins_failed, logins_throttled;
};

/* A reference; under the lock. */
struct peer *peer_get(struct door *d, const struct sockaddr *a, int fd);
void peer_drop(struct door *d, struct peer *p);
/* Forgets those that nothing is to be remembered of. */
void peers_sweep(struct door *d, int64_t now_ms);

/* Ends the seats whose time is over; under the lock. */
void seats_sweep(struct door *d, int64_t now_ms);

#endif
