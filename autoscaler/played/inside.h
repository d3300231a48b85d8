/*
 * inside.h - what the files of played/ share; private to them.
 */
#ifndef PLAYED_INSIDE_H
#define PLAYED_INSIDE_H

#include "../base/clock.h"
#include "player.h"

struct due {
    int64_t at_ms;
    uint64_t order;
    void (*happens)(void *arg); /* NULL: taken back */
    void *arg;
    bool computer; /* a program of the computer does it: not while it sleeps */
};

struct player {
    int64_t now_ms, wall_ms; /* wall: of the beginning */
    int64_t slept_ms;
    uint32_t busy; /* of 1,000 jobs */
    uint64_t chance, order;
    struct due **heap;
    uint32_t n, room;
    struct clock clock;
    bool mail, broken;
    uint32_t who; /* which daemon is at work */
    uint32_t starts[PLAYER_LOOPS];
    struct task *running; /* of crew.c: whose job runs at this moment */
};

/* crew.c: the job that runs takes so much longer. */
void player_takes_more(struct player *p, int64_t ms);

#endif
