/*
 * names.c - the request id travels in the instance's name.
 *
 * A node pool has no place for a launch's id, and a label can only be put on an
 * instance that exists; a stocked-out one does not.  But createInstances takes
 * the names: with the id and a number in them a repetition finds what an
 * earlier try made, and asks the group for the rest only, by names that exist
 * once.  A name is the group's base name, cut when need be, and
 *
 *   -k<16 of base32><end>    for davit-<20 hex>, Davit's own form
 *   --<id>-<end>             for another id of a-z 0-9 -
 *
 * end: 4 that stand for our cluster's name, and the number, 3 of base36.
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "gke.h"

#define DIGITS 3
#define TAG 4
#define END (TAG + DIGITS)
#define PACKED 16
#define HEX 20
#define PLAIN_MAX 40

static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";
static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char hexes[] = "0123456789abcdef";

static bool packable(const char *id)
{
    return strncmp(id, "davit-", 6) == 0 && strlen(id) == 6 + HEX &&
           strspn(id + 6, hexes) == HEX;
}

bool name_possible(const char *id)
{
    size_t n = strlen(id);
    return packable(id) ||
           (n > 0 && n <= PLAIN_MAX &&
            strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == n &&
            id[0] != '-' && id[n - 1] != '-' && !strstr(id, "--"));
}

static void pack(const char *hex, char *out)
{
    uint32_t bits = 0, n = 0;
    for (; *hex != '\0'; hex++) {
        bits = bits << 4 | (uint32_t)(strchr(hexes, *hex) - hexes);
        for (n += 4; n >= 5; n -= 5)
            *out++ = base32[bits >> (n - 5) & 31];
    }
    *out = '\0';
}

static bool unpack(const char *in, char *out)
{
    uint32_t bits = 0, n = 0;
    for (size_t i = 0; i < PACKED; i++) {
        const char *at = in[i] != '\0' ? strchr(base32, in[i]) : NULL;
        if (!at)
            return false;
        bits = bits << 5 | (uint32_t)(at - base32);
        for (n += 5; n >= 4; n -= 4)
            *out++ = hexes[bits >> (n - 4) & 15];
    }
    *out = '\0';
    return true;
}

void name_tag(char ret[5], const char *cluster)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)cluster, strlen(cluster), d);
    for (int i = 0; i < TAG; i++)
        ret[i] = base32[d[i] & 31];
    ret[TAG] = '\0';
}

/* GKE calls the group of base name X "X-grp". */
static size_t base_of(const char *group)
{
    size_t n = strlen(group);
    return n > 4 && strcmp(group + n - 4, "-grp") == 0 ? n - 4 : n;
}

void name_make(char ret[NAME_MAX_ + 1], const char *group, const char *tag,
               const char *id, uint32_t i)
{
    char tail[PLAIN_MAX + 16];
    if (packable(id)) {
        snprintf(tail, sizeof tail, "-k");
        pack(id + 6, tail + 2);
    } else {
        snprintf(tail, sizeof tail, "--%s-", id);
    }
    snprintf(tail + strlen(tail), sizeof tail - strlen(tail), "%s", tag);
    size_t n = strlen(tail), base = base_of(group);
    for (uint32_t d = 0; d < DIGITS; d++, i /= 36)
        tail[n + DIGITS - 1 - d] = base36[i % 36];
    tail[n + DIGITS] = '\0';
    if (base + n + DIGITS > NAME_MAX_)
        base = NAME_MAX_ - n - DIGITS;
    while (base > 0 && group[base - 1] == '-')
        base--;
    snprintf(ret, NAME_MAX_ + 1, "%.*s%s", (int)base, group, tail);
}

/* Where the id and what follows it begin in a name of ours, or NULL. */
static const char *tail_of(const char *name, char id[64])
{
    size_t n = strlen(name);
    char hex[HEX + 1];
    id[0] = '\0';
    if (n <= END || strspn(name + n - END, base36) != END)
        return NULL;
    const char *k = n > 2 + PACKED + END ? name + n - END - PACKED - 2 : "";
    if (k[0] == '-' && k[1] == 'k' && unpack(k + 2, hex)) {
        snprintf(id, 64, "davit-%s", hex);
        return k;
    }
    const char *at = NULL, *last = name + n - END - 1;
    for (const char *p = strstr(name, "--"); p && p < last;
         p = strstr(p + 1, "--"))
        at = p;
    if (!at || *last != '-' || last <= at + 2 || last - at - 2 > PLAIN_MAX)
        return NULL;
    snprintf(id, 64, "%.*s", (int)(last - at - 2), at + 2);
    return at;
}

void name_request(const char *name, char ret[64])
{
    tail_of(name, ret);
}

bool name_tagged(const char *name, const char *tag)
{
    char id[64];
    return tail_of(name, id) &&
           strncmp(name + strlen(name) - END, tag, TAG) == 0;
}

bool name_likely(const char *name, const char *group)
{
    char id[64];
    size_t base = base_of(group), n = strlen(name);
    const char *tail = tail_of(name, id);
    if (tail)
        return (size_t)(tail - name) <= base &&
               strncmp(name, group, (size_t)(tail - name)) == 0;
    return n > base && strncmp(name, group, base) == 0 && name[base] == '-';
}
