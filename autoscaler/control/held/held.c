/*
 * held.c - see held.h.
 */
#include "held.h"

#include <assert.h>
#include <string.h>

#include "../../base/hash.h"
#include "../ours.h"
#include "../prices/agreed.h"

/* A command, and what its asker has seen. */
struct word {
    struct commands *c;
    struct command *cmd;
    const struct command_shown *shown; /* NULL: he lets go whatever there is */
    struct hash machines;              /* of shown; in the command's arena */
};

static const char *asker(const struct command *cmd)
{
    return cmd->by && *cmd->by ? cmd->by : "nobody known";
}

static void word_open(struct word *w, struct commands *c, struct command *cmd)
{
    *w = (struct word){.c = c, .cmd = cmd, .shown = cmd->shown};
    if (!w->shown)
        return;
    hash_init(&w->machines, &cmd->arena, w->shown->machines.n);
    for (uint32_t i = 0; i < w->shown->machines.n; i++)
        hash_add(&w->machines, hash_name(w->shown->machines.v[i]),
                 (void *)w->shown->machines.v[i]);
}

static bool has_seen(const struct word *w, const char *machine)
{
    const char *name;

    if (!w->shown)
        return true;
    for (uint32_t at = 0;
         (name = hash_next(&w->machines, hash_name(machine), &at));)
        if (strcmp(name, machine) == 0)
            return true;
    return false;
}

static bool has_seen_provider(const struct word *w, const char *name)
{
    for (uint32_t i = 0; w->shown && i < w->shown->providers.n; i++)
        if (strcmp(w->shown->providers.v[i], name) == 0)
            return true;
    return !w->shown;
}

static void nothing(struct command *cmd, const char *what)
{
    cmd->status = err_set(&cmd->err, ST_NOT_FOUND, "%s", what);
}

/* Nothing is done: he looks again, and knows then. */
static void another(struct command *cmd, const char *what, const char *name)
{
    cmd->another = true;
    cmd->status = err_set(&cmd->err, ST_INVALID,
                          "%.200s%.60s: it was not among what was shown, so "
                          "nothing was done; look again",
                          what, name);
}

/* ---- a configuration, a place, a head */

static bool is_shown_file(const struct word *w)
{
    const struct configuration *conf = w->c->conf;
    char digest[CONFIGURATION_DIGEST];

    configuration_digest(conf, digest);
    return !w->shown || strcmp(w->shown->config, digest) == 0;
}

/* "" or the first of these names that he has not seen. */
static const char *unseen_of(const struct word *w, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        const char *name = arena_strndup(&w->cmd->arena, names, n);

        if (!has_seen(w, name))
            return name;
        names += n + (names[n] == ' ');
    }
    return "";
}

/* The first machine whose end is held so, and that he has not seen; NULL. */
static const struct machine *unseen_end(const struct word *w, bool by_file)
{
    const struct fleet *f = &w->c->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];

        if (m->end_held && (m->end_held == END_HELD_FILE) == by_file &&
            !has_seen(w, m->id))
            return m;
    }
    return NULL;
}

/* False: a refusal is written. */
static bool config_is_shown(const struct word *w)
{
    const struct configuration *conf = w->c->conf;
    const struct machine *m = conf->held ? NULL : unseen_end(w, true);
    const char *name = m ? m->id : "";

    if (!is_shown_file(w)) {
        another(w->cmd, conf->path, " has changed since");
        return false;
    }
    if (conf->held)
        name = unseen_of(w, conf->held_ends ? conf->held_ends : "");
    if (*name)
        another(w->cmd, "the configuration would end ", name);
    return !*name;
}

static bool places_are_shown(const struct word *w)
{
    const struct providers *p = w->c->providers;

    for (uint32_t i = 0; i < p->all.n; i++)
        if (p->all.v[i]->elsewhere &&
            !has_seen_provider(w, p->all.v[i]->conf->name)) {
            another(w->cmd, "another place of provider ",
                    p->all.v[i]->conf->name);
            return false;
        }
    return true;
}

static bool head_is_shown(const struct word *w)
{
    const char *head = sources_another(w->c->sources);

    if (!w->shown || strcmp(w->shown->head, head) == 0)
        return true;
    another(w->cmd, "another head answers, of session ", head);
    return false;
}

static bool apply_is_shown(const struct word *w)
{
    const struct configuration *conf = w->c->conf;

    if (!w->shown)
        return true;
    if (!places_are_shown(w))
        return false;
    if (conf->held || conf->in_force)
        return config_is_shown(w);
    return !sources_another(w->c->sources) || head_is_shown(w);
}

/* The first provider that is not where its machines are; NULL: none. */
static const struct provider_state *elsewhere_first(const struct providers *p)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        if (p->all.v[i]->elsewhere)
            return p->all.v[i];
    return NULL;
}

/* What he has seen may go; without that, as many as are held. */
static void ends_of_file_go(const struct word *w)
{
    const struct fleet *f = &w->c->ledger->fleet;

    for (uint32_t i = 0; w->shown && i < f->n; i++)
        if (has_seen(w, f->v[i]->id))
            ends_agree(w->c->ends, f->v[i]);
    ends_approve(w->c->ends, w->shown);
}

/* A held configuration, or a provider that is elsewhere at the start. */
static void apply(const struct word *w)
{
    struct commands *c = w->c;
    struct command *cmd = w->cmd;
    bool elsewhere = elsewhere_first(c->providers);
    const struct provider_state *still;

    if (!apply_is_shown(w))
        return;
    if (elsewhere)
        providers_check_places(c->providers, true);
    still = elsewhere_first(c->providers);
    if (still)
        cmd->status = err_set(&cmd->err, ST_INVALID, "%s", still->problem);
    if (elsewhere || c->conf->held || c->conf->in_force)
        emit(c->env, "config.approved", c->conf->path, "", "by %s", asker(cmd));
    cmd->reads = c->conf->held;
    if (c->conf->held)
        configuration_approve(c->conf, w->shown);
    else if (c->conf->in_force)
        ends_of_file_go(w);
    else if (sources_another(c->sources))
        sources_approve(c->sources, asker(cmd));
    else if (!elsewhere)
        nothing(cmd, "no configuration is held, and no head");
}

/* ---- machines */

static bool is_adopted_by(const struct command *cmd, const struct machine *m)
{
    return (machine_held(m) || (machine_stranger(m) && !m->ready_ms)) &&
           (!*cmd->machine || strcmp(m->id, cmd->machine) == 0);
}

static bool machines_are_shown(const struct word *w)
{
    const struct ledger *l = w->c->ledger;
    const char *other = *l->ours.elder ? l->ours.elder : l->ours.younger;

    for (uint32_t i = 0; w->shown && i < l->fleet.n; i++)
        if (is_adopted_by(w->cmd, l->fleet.v[i]) &&
            !has_seen(w, l->fleet.v[i]->id)) {
            another(w->cmd, "machine ", l->fleet.v[i]->id);
            return false;
        }
    if (!w->shown || *w->cmd->machine || strcmp(w->shown->journal, other) == 0)
        return true;
    another(w->cmd, "another daemon has a copy of this journal, by its launch ",
            other);
    return false;
}

static void adopt(const struct word *w)
{
    struct commands *c = w->c;
    struct command *cmd = w->cmd;

    if (!machines_are_shown(w))
        return;
    for (uint32_t i = 0; i < c->ledger->fleet.n; i++) {
        struct machine *m = c->ledger->fleet.v[i];

        if (!is_adopted_by(cmd, m))
            continue;
        m->adopted = ADOPTED_BY_PERSON;
        m->needed_ms = c->env->now_ms;
        agreed_now(c->ledger, m, c->conf->now);
        fleet_touch(&c->ledger->fleet, m);
        emit(c->env, "node.adopted", m->id, "", "%s: by %s", m->type,
             asker(cmd));
        cmd->count++;
    }
    if (!*cmd->machine && !ours_alone(c->ledger)) {
        emit(c->env, "journal.alone", c->ledger->path, "", "by %s", asker(cmd));
        return;
    }
    if (!cmd->count)
        cmd->status = err_set(
            &cmd->err, ST_NOT_FOUND, "%s%s",
            *cmd->machine ? "this node is not held: " : "no machine is held",
            cmd->machine);
}

static void forget(const struct word *w)
{
    struct commands *c = w->c;
    struct command *cmd = w->cmd;
    struct machine *m = fleet_by_id(&c->ledger->fleet, cmd->machine);

    if (!m || m->state == STATE_GONE) {
        cmd->status = err_set(&cmd->err, ST_NOT_FOUND, "no node \"%s\"",
                              cmd->machine);
        return;
    }
    emit(c->env, "node.forgotten", m->id, "",
         "%s %s: by %s; the machine itself is left alone", m->type, m->cloud_id,
         asker(cmd));
    machine_to(c->ledger, m, STATE_GONE);
    cmd->count = 1;
}

/* ---- ends, and lists */

static bool release_is_shown(const struct word *w)
{
    const struct providers *p = w->c->providers;
    const struct machine *m = w->shown ? unseen_end(w, false) : NULL;

    if (m) {
        another(w->cmd, "the end of ", m->id);
        return false;
    }
    for (uint32_t i = 0; i < p->all.n; i++)
        if (p->all.v[i]->short_since_ms &&
            !has_seen_provider(w, p->all.v[i]->conf->name)) {
            another(w->cmd, "the short list of provider ",
                    p->all.v[i]->conf->name);
            return false;
        }
    return true;
}

/* Those that he has seen, or else as many as are held. */
static void ends_go(const struct word *w)
{
    struct ends *e = w->c->ends;
    const struct fleet *f = &w->c->ledger->fleet;

    for (uint32_t i = 0; i < f->n; i++) {
        agreed_now(w->c->ledger, f->v[i], w->c->conf->now);
        if (w->shown && has_seen(w, f->v[i]->id))
            ends_agree(e, f->v[i]);
    }
    w->cmd->count = e->held + e->risen;
    ends_release(e, asker(w->cmd), w->shown);
}

static void release(const struct word *w)
{
    struct commands *c = w->c;
    bool any = false;

    if (!release_is_shown(w))
        return;
    for (uint32_t i = 0; i < c->providers->all.n; i++) {
        struct provider_state *s = c->providers->all.v[i];

        if (!s->short_since_ms)
            continue;
        s->short_believed = any = true;
        s->list_due_ms = 0;
    }
    if (c->ends->shut || c->ends->risen) {
        any = true;
        ends_go(w);
    }
    if (!any)
        nothing(w->cmd, "nothing is held");
}

void held_command(struct commands *c, struct command *cmd)
{
    struct word w;

    word_open(&w, c, cmd);
    switch (cmd->kind) {
    case COMMAND_APPLY: apply(&w); break;
    case COMMAND_ADOPT: adopt(&w); break;
    case COMMAND_FORGET: forget(&w); break;
    case COMMAND_RELEASE: release(&w); break;
    default: assert(!"nothing of these is about what is held");
    }
}
