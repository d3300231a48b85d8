/*
 * cloud.h - a played provider, "played": a cloud in memory, in played time.
 *
 * Machines boot for as long as chance says.  The same request id gives the same
 * machines, a list tells the truth, an ended machine is listed until it is
 * gone.  One cloud at a time; it outlives the daemons that use it.
 */
#ifndef PLAYED_CLOUD_H
#define PLAYED_CLOUD_H

#include "player.h"

struct cloud_machine {
    char id[32], request_id[48], type[64], zone[48];
    int64_t ready_ms; /* player_now_ms() */
    int64_t gone_ms;  /* INT64_MAX: it is not being ended */
};

struct cloud;

/* Registers the provider. */
struct cloud *cloud_new(struct player *p, uint32_t boot_least_ms,
                        uint32_t boot_most_ms);
void cloud_free(struct cloud *c);

/* Those that are there now, being ended or not. */
const struct cloud_machine *cloud_machines(struct cloud *c, uint32_t *ret_n);
uint32_t cloud_launched(const struct cloud *c); /* machines, in all its life */
uint32_t cloud_calls(const struct cloud *c);

#endif
