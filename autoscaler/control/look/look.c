/*
 * look.c - see look.h.
 */
#include "look.h"

#include <stdlib.h>

#include "../../base/alloc.h"
#include "../../plan/memory.h"
#include "../../plan/planner.h"

/* The memory, which is new, is there for its scratch: the plan is all that stays. */
static void look_run(struct job *job)
{
    struct look *t = (struct look *)job;
    struct problem now = *t->page->now;
    struct memory memory = {0};

    if (t->yields)
        workers_yield();
    if (t->settled)
        now.limits.consolidate = CONSOLIDATE_OFF;
    planner_run_again(&now, t->budget, &memory, &t->arena, &t->plan);
    memory_done(&memory);
}

struct look *look_new(struct status_page *page, uint64_t budget,
                      enum mail_kind kind)
{
    struct look *t = MEM_NEW(struct look);

    atomic_fetch_add(&page->refs, 1);
    t->page = page;
    t->budget = budget;
    t->job.mail.kind = kind;
    t->job.run = look_run;
    return t;
}

void look_free(struct look *t)
{
    status_unref(t->page);
    arena_done(&t->arena);
    free(t);
}
