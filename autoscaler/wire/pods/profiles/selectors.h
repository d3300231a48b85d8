/*
 * selectors.h - what selects pods, for a scheduler's default constraints; read
 * only when it has some that refuse nodes.
 */
#ifndef WIRE_PODS_SELECTORS_H
#define WIRE_PODS_SELECTORS_H

#include "../inside.h"

struct chooser { /* a service or a controller; id: "Service/space/name" */
    struct object object;
    const char *space;
    struct reqs reqs;
};
struct chooser *pods_service_read(const json_t *o);
struct chooser *pods_controller_read(const json_t *o);
struct chooser *pods_replicas_read(const json_t *o);
struct chooser *pods_stateful_read(const json_t *o);
/* Once in each view, before its conditions are looked at. */
void pods_defaults_resolve(struct builder *m, struct pod_shape *s);

#endif
