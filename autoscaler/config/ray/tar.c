/*
 * tar.c - see tar.h.
 */
#include "tar.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, LONGEST = 100, LONGEST_FOLDER = 155 };

/* pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar
 * Interchange Format"; numbers are octal. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char kind, link[100], magic[6], version[2], user[32], group[32];
    char major[8], minor[8], prefix[155], pad[12];
};

/* A long name is cut at a slash: what is before it goes into `prefix`. */
static bool name_set(struct header *h, const char *name)
{
    size_t n = strlen(name), cut = n > LONGEST ? n - LONGEST - 1 : 0;

    if (n > LONGEST) {
        const char *slash = strchr(name + cut, '/');
        cut = slash ? (size_t)(slash - name) : 0;
        if (!cut || cut > LONGEST_FOLDER || cut + 1 == n)
            return false;
        memcpy(h->prefix, name, cut++);
    }
    memcpy(h->name, name + cut, n - cut);
    return true;
}

static void sum_set(struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;

    memset(h->sum, ' ', sizeof h->sum);
    for (size_t i = 0; i < sizeof *h; i++)
        sum += p[i];
    snprintf(h->sum, 7, "%06o", sum);
}

bool tar_add(struct buf *b, const struct tar_entry *e)
{
    static const char zeros[BLOCK];
    struct header h = {
        .kind = (char)e->kind, .magic = "ustar", .version = {'0', '0'}};
    size_t n = e->kind == TAR_FILE ? e->n : 0;

    _Static_assert(sizeof h == BLOCK, "a header is a block");
    if (!name_set(&h, e->name) || (e->kind == TAR_LINK && e->n > LONGEST))
        return false;
    snprintf(h.mode, sizeof h.mode, "%07o", e->mode & 07777);
    snprintf(h.uid, sizeof h.uid, "%07o", 0);
    snprintf(h.gid, sizeof h.gid, "%07o", 0);
    snprintf(h.size, sizeof h.size, "%011zo", n);
    snprintf(h.mtime, sizeof h.mtime, "%011o", 0);
    if (e->kind == TAR_LINK)
        memcpy(h.link, e->data, e->n);
    sum_set(&h);
    buf_add(b, &h, sizeof h);
    buf_add(b, e->data, n);
    buf_add(b, zeros, (BLOCK - n % BLOCK) % BLOCK);
    return true;
}

void tar_end(struct buf *b)
{
    static const char zeros[2 * BLOCK];

    buf_add(b, zeros, sizeof zeros);
}
