/*
 * snapshot_parts.h - the parts of a snapshot, private to snapshot_*.c.
 */
#ifndef CONTROL_SNAPSHOT_PARTS_H
#define CONTROL_SNAPSHOT_PARTS_H

#include "snapshot_take.h"

/* A snapshot that is being taken. */
struct taking {
    const struct known *k;
    const struct config *conf;
    struct status_page *page;
    struct arena *arena; /* the page's */
    struct snapshot *snapshot;
    struct machine **machines; /* see struct taken */
    struct request **requests;
    uint32_t n_requests;
    bool unconfirmed; /* both: see struct taken */
    int64_t confirmed_ms;
};

void types_take(struct taking *t);
void nodes_take(struct taking *t);
void demands_take(struct taking *t);

/* So long the devices of a machine that joined may still be missing, wall; 0:
 * they are there, or will not come. */
int64_t devices_until_ms(const struct known *k, const struct machine *m);

#endif
