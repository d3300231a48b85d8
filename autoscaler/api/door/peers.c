/*
 * peers.c - which client a connection is of.
 *
 * An IPv6 host usually has a /64 to itself, so that is one client.  Users of
 * the Unix socket are told apart by the kernel.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "inside.h"

static void name_four(struct peer *p, const void *address)
{
    p->key[0] = 4;
    memcpy(p->key + 1, address, 4);
    inet_ntop(AF_INET, address, p->name, sizeof p->name);
}

static void name_six(struct peer *p, const struct in6_addr *a)
{
    static const struct in6_addr none;
    struct in6_addr net = none;
    char text[INET6_ADDRSTRLEN];

    if (IN6_IS_ADDR_V4MAPPED(a)) {
        name_four(p, &a->s6_addr[12]);
        return;
    }
    p->key[0] = 6;
    memcpy(p->key + 1, a, IN6_IS_ADDR_LOOPBACK(a) ? 16 : 8);
    memcpy(&net, p->key + 1, 16);
    inet_ntop(AF_INET6, &net, text, sizeof text);
    snprintf(p->name, sizeof p->name, "%s%s", text,
             IN6_IS_ADDR_LOOPBACK(a) ? "" : "/64");
}

static void name_local(struct peer *p, int fd)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t n = sizeof who;

    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
    p->uid = who.uid;
    p->key[0] = 1;
    memcpy(p->key + 1, &who.uid, sizeof who.uid);
    snprintf(p->name, sizeof p->name, "uid %u", (unsigned)who.uid);
}

struct peer *peer_get(struct door *d, const struct sockaddr *a, int fd)
{
    struct peer key = {0}, *p;

    if (a && a->sa_family == AF_INET)
        name_four(&key,
                  &((const struct sockaddr_in *)(const void *)a)->sin_addr);
    else if (a && a->sa_family == AF_INET6)
        name_six(&key,
                 &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
    else
        name_local(&key, fd);
    for (p = d->peers; p; p = p->next)
        if (memcmp(p->key, key.key, sizeof key.key) == 0) {
            d->n_idle -= p->refs == 0;
            p->refs++;
            return p;
        }
    p = MEM_NEW(struct peer);
    *p = key;
    p->refs = 1;
    p->next = d->peers;
    d->peers = p;
    return p;
}

void peer_drop(struct door *d, struct peer *p)
{
    struct peer **at = &d->peers;

    if (--p->refs > 0)
        return;
    if (p->keep_ms > clock_mono_ms() && d->n_idle < PEERS_KEPT) {
        d->n_idle++;
        return;
    }
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

void peers_sweep(struct door *d, int64_t now_ms)
{
    for (struct peer **at = &d->peers; *at;) {
        struct peer *p = *at;

        if (p->refs > 0 || p->keep_ms > now_ms) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        d->n_idle--;
        free(p);
    }
}

const char *peer_name(const struct peer *p)
{
    return p ? p->name : "";
}

bool peer_user(const struct peer *p, uid_t *ret)
{
    if (!p || p->key[0] != 1)
        return false;
    *ret = p->uid;
    return true;
}
