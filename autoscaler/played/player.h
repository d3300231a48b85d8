/*
 * player.h - played time, chance and workers: what runs the real loop on one
 * thread, as fast as it can be computed, and the same way for the same seed.
 *
 * While a player lives the clock and the random ids are its own (base/clock.h,
 * base/random.h).  A job of its workers begins and is answered after times that
 * chance draws; what it does is done at its beginning, which may be before the
 * loop's step is over.
 */
#ifndef PLAYED_PLAYER_H
#define PLAYED_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "../control/control.h"

struct player;

struct player *player_new(uint64_t seed, int64_t wall_ms);
void player_free(struct player *p);

uint32_t player_chance(struct player *p, uint32_t n); /* 0 .. n - 1 */
int64_t player_now_ms(const struct player *p);        /* since the beginning */
/* Something that happens so much later. */
void player_after(struct player *p, int64_t ms, void (*happens)(void *arg),
                  void *arg);

/* Of struct outside; the player is the first argument. */
struct workers *player_workers(void *player, unsigned n_threads,
                               unsigned max_stuck, struct mailbox *answers);

/* Steps of c, when they are due or there is mail, and what happens meanwhile:
 * until so much time has passed, or stop() (may be NULL) says so after a step.
 * Returns how many steps there were. */
uint64_t player_run(struct player *p, struct control *c, int64_t ms,
                    bool (*stop)(void *arg), void *arg);

#endif
