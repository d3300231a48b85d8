/*
 * ours.c - see ours.h.
 */
#include "ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/random.h"

#define MARK "davit-"
#define OWNER_KEY "owner"
enum { OWNER_DIGITS = 6, RANDOM_BYTES = 7 };

enum { KEY_MAX = 96 };

static const char *key_of(const char *what, const char *provider,
                          char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s/%s", what, provider);
    return key;
}

static void hex(const unsigned char *v, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        snprintf(ret + 2 * i, 3, "%02x", v[i]);
}

/* What is kept of a provider, or NULL. */
static struct provider_facts *facts_find(const struct ours *o,
                                         const char *provider)
{
    for (uint32_t i = 0; i < o->providers.n; i++)
        if (strcmp(o->providers.v[i].name, provider) == 0)
            return &o->providers.v[i];
    return NULL;
}

static const char *value_read(struct ledger *l, const char *what,
                              const char *provider, struct arena *a)
{
    char key[KEY_MAX];
    const char *v = "";

    journal_value(l->env->journal, key_of(what, provider, key), a, &v, NULL);
    return v;
}

/* Read from the journal when it is asked for first. */
static struct provider_facts *facts_get(struct ledger *l, const char *provider)
{
    struct provider_facts *f = facts_find(&l->ours, provider);
    struct arena a = {0};

    if (f)
        return f;
    VEC_PUSH(NULL, &l->ours.providers,
             ((struct provider_facts){
                 .name = mem_strdup(provider),
                 .place = mem_strdup(value_read(l, "place", provider, &a)),
                 .listed = *value_read(l, "listed", provider, &a) != '\0'}));
    arena_done(&a);
    return &l->ours.providers.v[l->ours.providers.n - 1];
}

static void value_write(struct ledger *l, const char *what,
                        const char *provider, const char *value)
{
    char key[KEY_MAX];

    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, key_of(what, provider, key), value,
                      NULL);
}

/* ---- the owner */

static void owner_make(struct ledger *l)
{
    unsigned char r[OWNER_DIGITS / 2];

    if (l->ha)
        ha_digest(l->ha, r, sizeof r);
    else
        random_bytes(r, sizeof r);
    hex(r, sizeof r, l->ours.owner);
    journal_put_value(l->env->journal, OWNER_KEY, l->ours.owner, NULL);
}

enum status ours_open(struct ledger *l, struct err *err)
{
    struct arena a = {0};
    const char *owner;
    enum status s = journal_value(l->env->journal, OWNER_KEY, &a, &owner, err);

    l->ours.began_empty = l->fleet.n == 0;
    snprintf(l->ours.owner, sizeof l->ours.owner, "%.*s", OWNER_DIGITS, owner);
    if (s == ST_OK && strlen(owner) != OWNER_DIGITS)
        owner_make(l);
    arena_done(&a);
    return s;
}

void ours_close(struct ledger *l)
{
    for (uint32_t i = 0; i < l->ours.providers.n; i++) {
        free(l->ours.providers.v[i].name);
        free(l->ours.providers.v[i].place);
    }
    free(l->ours.providers.v);
    l->ours.providers.v = NULL;
    l->ours.providers.n = l->ours.providers.cap = 0;
}

void ours_rewrite(struct ledger *l)
{
    journal_put_value(l->env->journal, OWNER_KEY, l->ours.owner, NULL);
    for (uint32_t i = 0; i < l->ours.providers.n; i++) {
        const struct provider_facts *f = &l->ours.providers.v[i];

        if (*f->place)
            value_write(l, "place", f->name, f->place);
        if (f->listed)
            value_write(l, "listed", f->name, "1");
    }
}

void ours_request_id(const struct ledger *l, char ret[REQUEST_ID_MAX])
{
    unsigned char r[RANDOM_BYTES];
    char chance[2 * RANDOM_BYTES + 1];

    random_bytes(r, sizeof r);
    hex(r, sizeof r, chance);
    snprintf(ret, REQUEST_ID_MAX, MARK "%s%s", l->ours.owner, chance);
}

/* ---- machines that the ledger does not know */

static bool has_mark(const char *request_id)
{
    return strncmp(request_id, MARK, sizeof MARK - 1) == 0;
}

bool machine_stranger(const struct machine *m)
{
    return m->adopted == ADOPTED && !has_mark(m->request_id);
}

enum adoption ours_of(const struct ledger *l, const char *provider,
                      const char *request_id)
{
    const struct provider_facts *f = facts_find(&l->ours, provider);

    if (has_mark(request_id))
        return strncmp(request_id + sizeof MARK - 1, l->ours.owner,
                       OWNER_DIGITS) == 0
                   ? ADOPTED
                   : ADOPTED_OTHER_OWNER;
    return l->ours.began_empty && !(f && f->listed) ? ADOPTED_NEW_JOURNAL
                                                    : ADOPTED;
}

const char *ours_text(enum adoption a)
{
    switch (a) {
    case ADOPTED_NEW_JOURNAL:
        return "; it was there before this journal: it is not ended before "
               "`davit adopt`";
    case ADOPTED_OTHER_OWNER:
        return "; another daemon or another journal launched it: it is not "
               "ended before `davit adopt`";
    case ADOPTED_NOT:
    case ADOPTED_BY_PERSON:
    case ADOPTED: break;
    }
    return "";
}

void ours_listed(struct ledger *l, const char *provider)
{
    struct provider_facts *f = facts_get(l, provider);

    if (f->listed)
        return;
    f->listed = true;
    value_write(l, "listed", provider, "1");
}

/* ---- places */

static bool has_machines(const struct ledger *l, const char *provider)
{
    for (uint32_t i = 0; i < l->fleet.n; i++)
        if (l->fleet.v[i]->state != STATE_GONE &&
            strcmp(l->fleet.v[i]->provider, provider) == 0)
            return true;
    return false;
}

const char *ours_place(const struct ledger *l, const char *provider)
{
    const struct provider_facts *f = facts_find(&l->ours, provider);

    return f ? f->place : "";
}

bool ours_same_place(struct ledger *l, const char *provider, const char *other)
{
    const char *place = facts_get(l, provider)->place;

    return *place && strcmp(place, facts_get(l, other)->place) == 0;
}

const char *ours_moved(struct ledger *l, const char *provider,
                       const char *place)
{
    struct provider_facts *f = facts_get(l, provider);

    if (strcmp(f->place, place) == 0)
        return NULL;
    if (*f->place && has_machines(l, provider))
        return f->place;
    ours_move(l, provider, place);
    return NULL;
}

void ours_move(struct ledger *l, const char *provider, const char *place)
{
    struct provider_facts *f = facts_get(l, provider);

    free(f->place);
    f->place = mem_strdup(place);
    value_write(l, "place", provider, place);
}
