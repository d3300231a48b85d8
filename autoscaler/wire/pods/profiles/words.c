/*
 * words.c - what is not as the plan takes it to be: what we may not read, and
 * settings of the scheduler that are not followed.  See inside.h.
 */
#include <string.h>

#include "../inside.h"

struct words {
    VEC(struct source_word) all;
};

#define SAY(to, a, kind, subject, ...) \
    VEC_PUSH(a, &(to)->all, \
             ((struct source_word){kind, arena_strdup(a, subject), \
                                   arena_printf(a, __VA_ARGS__)}))

static const char *without(const char *what)
{
    static const struct {
        const char *what, *text;
    } texts[] = {
        {"persistentvolume", "where volumes let a pod run is not known"},
        {"storageclasses", "where volumes let a pod run is not known"},
        {"csinodes", "how many volumes a node attaches is not known"},
        {"namespaces", "every namespaceSelector means all namespaces"},
        {"podgroups",
         "how many pods of a group must run together is not known"},
        {"Volcano's queues", "what a queue has room for is not known"},
        {"Volcano", "how many pods of a group must run together is not known"},
        {"configmaps", "the scheduler's settings are taken to be its defaults"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strncmp(texts[i].what, what, strlen(texts[i].what)) == 0)
            return texts[i].text;
    return "whom the scheduler's default spread counts is not known";
}

static void profile_words(const struct pods_view_in *in, struct arena *a,
                          struct words *to)
{
    const struct pods_store *s = in->store;
    const char *from = s->profiles_from;
    const struct names *schedulers = &s->rules->schedulers;

    if (s->profiles_wrong || in->map_missing)
        SAY(to, a, "scheduler_differs", from,
            "the scheduler's settings in %s cannot be read, so its defaults "
            "are taken: %s",
            from, s->profiles_wrong ? s->profiles_wrong : "it is not there");
    for (uint32_t i = 0; s->profiles && i < s->profiles->words.n; i++)
        SAY(to, a, "scheduler_differs", from, "in %s %s", from,
            s->profiles->words.v[i]);
    for (uint32_t i = 0; s->profiles && i < s->profiles->n; i++)
        if (!pods_listed(schedulers, s->profiles->v[i].scheduler))
            SAY(to, a, "scheduler_differs", from,
                "in %s profile %s is none of head.kubernetes.scheduler_names: "
                "its pods are no demand",
                from, s->profiles->v[i].scheduler);
}

/* Of a kind that the cluster may not have at all we may not know that. */
static bool matters(const struct builder *m, const char *what)
{
    return m->any_gang ||
           (!strstr(what, "podgroups") && !strstr(what, "Volcano"));
}

const struct source_word *pods_words(const struct builder *m, uint32_t *ret_n)
{
    const struct pods_view_in *in = m->in;
    const struct pods_store *s = in->store;
    struct arena *a = m->arena;
    struct words w = {{0}};

    for (uint32_t i = 0; i < s->n_hidden; i++)
        if (matters(m, s->hidden[i]))
            SAY(&w, a, "not_readable", s->hidden[i],
                "the API server does not let Davit list and watch %s, so %s: the "
                "scheduler's word on each pod decides; `davit doctor` prints the "
                "rule that is missing",
                s->hidden[i], without(s->hidden[i]));
    profile_words(in, a, &w);
    *ret_n = w.all.n;
    return w.all.v;
}
