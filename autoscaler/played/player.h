/*
 * player.h - played time, chance and workers: what runs the real loop on one
 * thread, as fast as it can be computed, and the same way for the same seed.
 *
 * While a player lives the clock and the random ids are its own (base/clock.h,
 * base/random.h).  A job of its workers begins and is answered after times that
 * chance draws; what it does is done at its beginning, which may be before the
 * loop's step is over.  Times are milliseconds.  One thread.
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
/* Somebody sets the computer's wall clock; intervals go on. */
void player_wall_step(struct player *p, int64_t ms);
/* The computer sleeps for so long: the world goes on, and its wall clock; its
 * programs and the clock of their intervals stand still. */
void player_sleep(struct player *p, int64_t ms);
/* So many of 1,000 jobs take up to a minute: a busy computer. */
void player_busy(struct player *p, uint32_t of_1000);
/* A call of the program's own (a write, a sync) takes so long, and the world goes
 * on meanwhile: for who stands in for the kernel.  In a job it is the job that
 * takes longer, else the daemon's step. */
void player_pass(struct player *p, int64_t ms);
/* A daemon starts: its steady clock begins at the wall time of this moment. */
void player_process_new(struct player *p);

/* Something that happens so much later.  May be taken back until it has. */
struct due;
struct due *player_after(struct player *p, int64_t ms,
                         void (*happens)(void *arg), void *arg);
void player_cancel(struct due *e);

/* Of struct outside; the player is the first argument.  Of a pool's jobs
 * n_threads run at once, and one past its deadline gives its place to another,
 * up to max_stuck (base/worker.h). */
struct workers *player_workers(void *player, unsigned n_threads,
                               unsigned max_stuck, struct mailbox *answers);

/* For what a job calls, while it runs: its answer comes after so long, in place
 * of a time that is drawn ... */
void player_takes(struct player *p, int64_t ms);
bool player_is_late(const struct player *p); /* that was said of this job */
/* ... or the job is run once more, as soon as somebody wakes it.  w is zero at
 * first, and stays where it is as long as the job is under way. */
struct player_wait {
    struct task *task; /* NULL: nobody waits */
};
void player_wait(struct player *p, struct player_wait *w, int64_t most_ms);
void player_wake(struct player_wait *w);

/* Steps of c, when they are due or there is mail, and what happens meanwhile:
 * until so much time has passed, or stop() (may be NULL) says so after a step.
 * Returns how many steps there were. */
uint64_t player_run(struct player *p, struct control *c, int64_t ms,
                    bool (*stop)(void *arg), void *arg);
/* The same with several daemons, of which each has its number. */
enum { PLAYER_LOOPS = 4 };
uint64_t player_run_all(struct player *p, struct control *const *c, uint32_t n,
                        int64_t ms, bool (*stop)(void *arg), void *arg);
/* It ends now: for what happens meanwhile. */
void player_break(struct player *p);
/* Which daemon is at work: of the step that runs, or as was said, for one that
 * starts; and how many have started under its number. */
uint32_t player_who(const struct player *p);
uint32_t player_starts(const struct player *p);
void player_as(struct player *p, uint32_t who);

#endif
