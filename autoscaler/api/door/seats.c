/*
 * seats.c - every connection, and how long it may take.
 *
 * A seat is ended by shutting its socket down: libmicrohttpd then sees the end
 * of it and closes it on the thread that owns it.  The number of the socket is
 * ours to use until libmicrohttpd tells that the connection is closed, which
 * takes the lock.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/hash.h"
#include "inside.h"
#include "local.h"

/* How long each phase may last, in milliseconds; 0: as long as we take. */
static const int64_t limit[SEAT_PHASES] = {
    [SEAT_HEADER] = 10000, [SEAT_IDLE] = 60000,   [SEAT_BODY] = 30000,
    [SEAT_REPLY] = 60000,  [SEAT_LEAVING] = 5000,
};

/* What the kernel keeps for a reader that does not read; it would take 4 MiB. */
#define SEND_BUFFER (128 << 10)

#define FEW 4

/* Who sends a request sends it at once, and takes a short reply at once. */
#define YOUNG_MS 1000

/* Who goes first when others need the room: strangers, and of two alike who is a
 * stranger; 0: it waits for us, and stays. */
static int burden(const struct seat *s, int64_t now_ms)
{
    int how = s->phase == SEAT_LEAVING                          ? 4
              : s->proven || now_ms - s->since_ms < YOUNG_MS    ? 1
              : s->phase == SEAT_BODY || s->phase == SEAT_REPLY ? 2
                                                                : 3;

    return limit[s->phase] ? 2 * how + !s->proven : 0;
}

/* How one client's seats lie among those who call from its address, strangers as one of
 * them: where two or more have shown who they are, whoever has more than an equal part
 * makes room before the others, strangers first.  A single caller's seats are nobody
 * else's loss.  Callers are told apart by eight bits of their hash, which is keyed. */
enum { CROWDS = 256, OVER = 100 };
struct crowds {
    uint32_t n[CROWDS], strangers, part;
};

static void crowds_count(struct crowds *c, const struct door *d,
                         const struct peer *p, enum door_port port)
{
    uint32_t n = 0, callers = 0;

    *c = (struct crowds){.part = UINT32_MAX};
    for (const struct seat *s = d->seats; p && s; s = s->next) {
        if (s->peer != p || s->port != port || s->ended)
            continue;
        n++;
        if (s->proven)
            callers += c->n[s->who % CROWDS]++ == 0;
        else
            c->strangers++;
    }
    if (callers > 1)
        c->part = n / (callers + (c->strangers > 0));
}

static int crowding(const struct crowds *c, const struct seat *s)
{
    if (!s->proven)
        return c->strangers > c->part ? 2 * OVER : 0;
    return c->n[s->who % CROWDS] > c->part ? OVER : 0;
}

/* With a reset: what a slow reader has not taken must not stay in the kernel.
 */
static void end(struct seat *s)
{
    static const struct linger at_once = {.l_onoff = 1};

    s->ended = true;
    s->door->ports[s->port].n--;
    s->peer->seats[s->port]--;
    setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    shutdown(s->fd, SHUT_RDWR);
}

void seats_sweep(struct door *d, int64_t now_ms)
{
    for (struct seat *s = d->seats; s; s = s->next)
        if (!s->ended && limit[s->phase] &&
            now_ms - s->since_ms >= limit[s->phase]) {
            atomic_fetch_add(&d->late, 1);
            end(s);
        }
}

/* The client with the most seats at this port. */
static struct peer *greediest(struct door *d, enum door_port port)
{
    struct peer *most = d->peers;

    for (struct peer *p = d->peers; p; p = p->next)
        if (p->seats[port] > most->seats[port])
            most = p;
    return most;
}

/* Of the client's, or with NULL of all, the one that may go best, but not the
 * newcomer; NULL: none may. */
static struct seat *weakest(struct door *d, const struct peer *p,
                            const struct crowds *c, const struct seat *newcomer)
{
    int64_t now = clock_mono_ms();
    struct seat *best = NULL;
    int most = 0;

    for (struct seat *s = d->seats; s; s = s->next) {
        int b = burden(s, now);

        if (b)
            b += crowding(c, s);
        if ((p && s->peer != p) || s->port != newcomer->port || s->ended ||
            s == newcomer || s->spared == d->round || b == 0 || b < most ||
            (b == most && s->since_ms >= best->since_ms))
            continue;
        best = s;
        most = b;
    }
    return best;
}

/* Has it said something that we have not read?  Then it waits for us, as a probe
 * does while many others are accepted before it is looked at. */
static bool has_input(const struct seat *s)
{
    int n = 0;

    return ioctl(s->fd, FIONREAD, &n) == 0 && n > 0;
}

/* The weakest that has nothing to read; among eight that have, the first. */
static struct seat *victim(struct door *d, const struct peer *p,
                           const struct seat *newcomer)
{
    struct seat *first = NULL;
    struct crowds crowds;

    crowds_count(&crowds, d, p, newcomer->port);
    d->round++;
    for (int tries = 0; tries < 8; tries++) {
        struct seat *s = weakest(d, p, &crowds, newcomer);

        if (!s || !has_input(s))
            return s ? s : first;
        s->spared = d->round;
        first = first ? first : s;
    }
    return first;
}

/* Room for the newcomer, which is counted already; if need be, its own. */
static void make_room(struct door *d, struct seat *newcomer)
{
    const struct port *port = &d->ports[newcomer->port];
    struct peer *p = newcomer->peer;
    struct seat *s;

    if (p->seats[newcomer->port] <= port->per_peer) {
        if (port->n <= port->max)
            return;
        p = greediest(d, newcomer->port);
        if (p->seats[newcomer->port] <= FEW)
            p = NULL; /* many clients with little each: nobody is greedy */
    }
    s = victim(d, p, newcomer);
    if (!s && port->n <= port->max)
        return; /* all of them wait for us: others of his address do no more */
    atomic_fetch_add(&d->evicted, 1);
    end(s ? s : newcomer);
}

static void seat_open(struct port *port, struct MHD_Connection *connection,
                      void **context)
{
    /* What one call returns lies where the next call's does. */
    int fd = MHD_get_connection_info(connection,
                                     MHD_CONNECTION_INFO_CONNECTION_FD)
                 ->connect_fd;
    const union MHD_ConnectionInfo *address = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct door *d = port->door;
    struct seat *s = MEM_NEW(struct seat);

    s->door = d;
    s->port = port->which;
    s->fd = fd;
    s->since_ms = clock_mono_ms();
    setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BUFFER}, sizeof(int));
    pthread_mutex_lock(&d->lock);
    s->peer = peer_get(d, address ? address->client_addr : NULL, s->fd);
    s->next = d->seats;
    s->link = &d->seats;
    if (s->next)
        s->next->link = &s->next;
    d->seats = s;
    port->n++;
    s->peer->seats[s->port]++;
    make_room(d, s);
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
    *context = s;
}

static void seat_close(struct seat *s)
{
    struct door *d = s->door;

    pthread_mutex_lock(&d->lock);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    if (!s->ended) {
        d->ports[s->port].n--;
        s->peer->seats[s->port]--;
    }
    peer_drop(d, s->peer);
    pthread_mutex_unlock(&d->lock);
    free(s);
}

void door_notify(void *arg, struct MHD_Connection *connection, void **context,
                 enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        seat_open(arg, connection, context);
    } else if (*context) {
        seat_close(*context);
        *context = NULL;
    }
}

struct seat *seat_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return i ? i->socket_context : NULL;
}

void seat_enter(struct seat *s, enum seat_phase phase)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->door->lock);
    /* a stream may have been ended before its reply was queued */
    if (phase != SEAT_STREAM || s->phase != SEAT_LEAVING) {
        s->phase = phase;
        s->since_ms = clock_mono_ms();
    }
    pthread_mutex_unlock(&s->door->lock);
}

void seat_prove(struct seat *s, const char *who)
{
    uint64_t h = who ? hash_text(HASH_SEED, who) : 0;

    if (!s)
        return;
    pthread_mutex_lock(&s->door->lock);
    s->proven = who;
    s->who = h;
    pthread_mutex_unlock(&s->door->lock);
}

struct peer *seat_peer(struct seat *s)
{
    return s ? s->peer : NULL;
}

bool seat_user(struct seat *s, uid_t *ret)
{
    if (!s)
        return false;
    if (!s->asked)
        s->known = local_user(s->fd, &s->user);
    s->asked = true;
    *ret = s->user;
    return s->known;
}

enum door_port seat_port(const struct seat *s)
{
    return s ? s->port : DOOR_PORTS;
}
