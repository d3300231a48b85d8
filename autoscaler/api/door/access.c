/*
 * access.c - rights: who somebody is, and what he may.
 */
#include "access.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "../../base/glob.h"

static bool any_fits(const struct patterns *p, const char *text)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (glob_fits(p->v[i], text))
            return true;
    return false;
}

static bool in_time(const struct principal *p, int64_t wall_ms)
{
    return !p->until_ms || wall_ms < p->until_ms;
}

/* All are looked at, so that time says nothing about which. */
const struct principal *access_by_token(const struct access *a,
                                        const unsigned char digest[32],
                                        int64_t wall_ms)
{
    const struct principal *found = NULL;

    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].kind == ACCESS_TOKEN &&
            CRYPTO_memcmp(a->v[i].digest, digest, ACCESS_DIGEST) == 0 &&
            in_time(&a->v[i], wall_ms))
            found = &a->v[i];
    return found;
}

const struct principal *access_by_user(const struct access *a, uid_t uid,
                                       int64_t wall_ms)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].kind == ACCESS_USER && a->v[i].uid == uid &&
            in_time(&a->v[i], wall_ms))
            return &a->v[i];
    return NULL;
}

const char *const cert_kinds[CERT_KINDS] = {
    [CERT_DNS] = "dns", [CERT_URI] = "uri", [CERT_EMAIL] = "email", [CERT_CN] = "cn"};

/* A path that climbs up leads out of what a '*' stands for. */
static bool cert_fits(const char *pattern, const char *name)
{
    return strcmp(pattern, name) == 0 ||
           (!strstr(name, "/../") && !strstr(name, "/./") &&
            glob_fits(pattern, name));
}

const struct principal *access_by_cert(const struct access *a,
                                       enum cert_kind kind, const char *name,
                                       int64_t wall_ms)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].kind == ACCESS_CERT && (a->v[i].cert_kinds >> kind & 1) &&
            cert_fits(a->v[i].cert, name) && in_time(&a->v[i], wall_ms))
            return &a->v[i];
    return NULL;
}

bool principal_reads(const struct principal *p)
{
    return p->read || p->admin;
}

const char *owner_of_source(const char *owner)
{
    return strcmp(owner, "ray") == 0
               ? "\"ray\" stands for what Ray itself asks for "
                 "(ray.autoscaler.sdk.request_resources; bundles=[] clears it)"
           : strcmp(owner, "kubernetes") == 0
               ? "\"kubernetes\" stands for pending pods; they are made and "
                 "deleted in the cluster"
               : NULL;
}

bool principal_asks(const struct principal *p, const char *owner)
{
    return p->admin || (!owner_of_source(owner) && any_fits(&p->owners, owner));
}

bool principal_queues(const struct principal *p, const char *queue)
{
    return p->admin || p->queues.n == 0 || any_fits(&p->queues, queue);
}

bool principal_outranks(const struct principal *p, int32_t priority)
{
    return p->admin || !p->has_priority || priority <= p->priority_max;
}

const struct principal *access_named(const struct access *a, const char *name,
                                     int64_t wall_ms)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->v[i].name, name) == 0)
            return in_time(&a->v[i], wall_ms) ? &a->v[i] : NULL;
    return NULL;
}

const char *share_of(const char *via, const char *name, const char *from,
                     char *buf, size_t n)
{
    static const char account[] = "system:serviceaccount:";
    const size_t skip = sizeof account - 1;

    if (strcmp(via, "open") == 0)
        snprintf(buf, n, "open/%s", from);
    else if (strcmp(via, "kubernetes") == 0 &&
             strncmp(name, account, skip) == 0)
        snprintf(buf, n, "namespace/%.*s", (int)strcspn(name + skip, ":"),
                 name + skip);
    else
        snprintf(buf, n, "%s/%s", via, name);
    return buf;
}

static const char *joined(struct arena *a, const char *before, const char *word,
                          const struct patterns *p)
{
    const char *text = before;

    for (uint32_t i = 0; i < p->n; i++)
        text = i ? arena_printf(a, "%s,%s", text, p->v[i])
                 : arena_printf(a, "%s%s%s:%s", text, *text ? " " : "", word,
                                p->v[i]);
    return text;
}

const char *principal_rights(const struct principal *p, struct arena *a)
{
    const char *text = p->admin ? "admin" : p->read ? "read" : "";

    text = joined(a, joined(a, text, "request", &p->owners), "queues",
                  &p->queues);
    return p->has_priority
               ? arena_printf(a, "%s priority:%d", text, p->priority_max)
               : text;
}
