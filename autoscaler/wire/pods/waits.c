/*
 * waits.c - every pod that has no node yet is in one count, with a reason.  See
 * inside.h.
 *
 * Most of them are planned for.  Of the others some wait for somebody else, and
 * what a user should know of the rest is a note (demand.c).
 */
#include <assert.h>
#include <string.h>

#include "inside.h"

static const struct {
    const char *code, *text;
} reasons[] = {
    {"Planned", "demand of the plan"},
    {WAITS_DAEMON, "of a DaemonSet: they belong to nodes that are there"},
    {WAITS_STATIC, "static pods: they belong to nodes that are there"},
    {WAITS_ENDING, "they are being deleted"},
    {WAITS_GATED, "scheduling gates hold them back"},
    {WAITS_NOMINATED, "their scheduler makes room for them on a node"},
    {WAITS_SCHEDULER,
     "their schedulerName is none of head.kubernetes.scheduler_names"},
    {WAITS_SPACE, "their namespace is none of head.kubernetes.namespaces"},
    {WAITS_UNTRIED, "their scheduler has not said that no node has room"},
    {"PodGroup", "their pod group is not complete, or one of it has no place"},
    {"TooManyPods", "so many different pods wait that their turn comes later"},
    {"TooManyConditions",
     "the pods that wait have too many different conditions"},
};

static const char *text_of(const char *code)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].code, code) == 0)
            return reasons[i].text;
    return "a new node does not help them: davit why POD says why";
}

void waits_count(struct builder *m, const char *code, uint32_t n)
{
    m->n_counted += n;
    for (uint32_t i = 0; i < m->waits.n; i++)
        if (strcmp(m->waits.v[i].code, code) == 0) {
            m->waits.v[i].n += n;
            return;
        }
    if (n)
        VEC_PUSH(m->arena, &m->waits,
                 ((struct source_count){arena_strdup(m->arena, code),
                                        text_of(code), n}));
}

uint32_t waiting_in(struct pod *const *v, uint32_t n)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < n; i++)
        waiting += v[i]->state == POD_DEMAND;
    return waiting;
}

void waits_end(const struct builder *m)
{
    assert(m->n_counted == m->n_pending);
    (void)m;
}
