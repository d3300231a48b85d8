/*
 * ours.c - see ours.h.
 */
#include "ours.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "../base/alloc.h"
#include "../base/random.h"

#define OWNER_KEY "owner"
#define INCARNATION_KEY "incarnation"
#define ELDER_KEY "elder"
#define JOIN_KEY "join"
#define CLUSTER_KEY "cluster"

enum { KEY_MAX = 96, DAY_S = 86400 };

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
    unsigned char r[MARK_OWNER / 2];

    if (l->ha)
        ha_digest(l->ha, r, sizeof r);
    else
        random_bytes(r, sizeof r);
    hex(r, sizeof r, l->ours.owner);
    journal_put_value(l->env->journal, OWNER_KEY, l->ours.owner, NULL);
}

/* ---- the incarnation */

static int64_t now_s(const struct ledger *l)
{
    return l->env->now_ms / 1000;
}

static void incarnation_write(struct ledger *l)
{
    char text[48];

    snprintf(text, sizeof text, "%u %" PRId64, l->ours.incarnation.starts,
             l->ours.last_s);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, INCARNATION_KEY, text, NULL);
}

/* One start more.  A clock that was set back makes no launch of an earlier process
 * a later one. */
static void incarnation_open(struct ledger *l)
{
    struct ours *o = &l->ours;
    struct arena a = {0};
    const char *text = "", *elder = "";
    unsigned char r[2];
    char *end;

    journal_value(l->env->journal, INCARNATION_KEY, &a, &text, NULL);
    journal_value(l->env->journal, ELDER_KEY, &a, &elder, NULL);
    random_bytes(r, sizeof r);
    o->incarnation = (struct incarnation){
        ((uint32_t)strtoul(text, &end, 10) + 1) % INCARNATION_STARTS,
        (r[0] | (uint32_t)r[1] << 8) % INCARNATION_CHANCE};
    o->last_s = strtoll(end, NULL, 10);
    o->alone_s = o->last_s > now_s(l) ? o->last_s : now_s(l);
    snprintf(o->elder, sizeof o->elder, "%s", elder);
    arena_done(&a);
    incarnation_write(l);
}

/* ---- the join token */

static void join_key_open(struct ledger *l)
{
    struct arena a = {0};
    const char *key = "";

    journal_value(l->env->journal, JOIN_KEY, &a, &key, NULL);
    if (strlen(key) == sizeof l->ours.join_key - 1)
        snprintf(l->ours.join_key, sizeof l->ours.join_key, "%s", key);
    arena_done(&a);
}

void ours_join_key(struct ledger *l)
{
    unsigned char r[(sizeof l->ours.join_key - 1) / 2];

    if (*l->ours.join_key)
        return;
    random_bytes(r, sizeof r);
    hex(r, sizeof r, l->ours.join_key);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, JOIN_KEY, l->ours.join_key, NULL);
}

void ours_join_token(const struct ledger *l, const char *request_id,
                     char ret[JOIN_TOKEN_MAX])
{
    unsigned char d[EVP_MAX_MD_SIZE];

    ret[0] = '\0';
    if (!*l->ours.join_key)
        return;
    HMAC(EVP_sha256(), l->ours.join_key, (int)strlen(l->ours.join_key),
         (const unsigned char *)request_id, strlen(request_id), d, NULL);
    hex(d, (JOIN_TOKEN_MAX - 1) / 2, ret);
}

bool ours_join_mark_is(const struct ledger *l, const struct machine *m,
                       const char *mark)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    char token[JOIN_TOKEN_MAX], is[JOIN_TOKEN_MAX],
        text[sizeof token + MACHINE_ROOM(cloud_id)];

    if (!mark || strlen(mark) != sizeof is - 1 || !*m->cloud_id ||
        !*m->request_id)
        return false;
    ours_join_token(l, m->request_id, token);
    if (!*token)
        return false;
    snprintf(text, sizeof text, "%s %s", token, m->cloud_id);
    SHA256((const unsigned char *)text, strlen(text), d);
    hex(d, (sizeof is - 1) / 2, is);
    return CRYPTO_memcmp(is, mark, sizeof is - 1) == 0;
}

enum status ours_open(struct ledger *l, struct err *err)
{
    struct arena a = {0};
    const char *owner;
    enum status s = journal_value(l->env->journal, OWNER_KEY, &a, &owner, err);

    join_key_open(l);
    l->ours.began_empty = l->fleet.n == 0;
    snprintf(l->ours.owner, sizeof l->ours.owner, "%.*s", MARK_OWNER, owner);
    if (s == ST_OK && strlen(owner) != MARK_OWNER)
        owner_make(l);
    arena_done(&a);
    if (s == ST_OK)
        incarnation_open(l);
    return s;
}

enum status ours_cluster(struct ledger *l, const char *cluster, bool in_use,
                         struct err *err)
{
    struct arena a = {0};
    const char *was = "";
    enum status s = journal_value(l->env->journal, CLUSTER_KEY, &a, &was, err);

    if (s == ST_OK && *was && strcmp(was, cluster) != 0 && in_use)
        s = err_set(
            err, ST_INVALID,
            "this journal is of cluster \"%.80s\", and has machines or "
            "requests; the configuration is of cluster \"%.80s\": give "
            "each cluster a journal of its own under `state:`. If it has "
            "another name by now, its machines have the old one still: "
            "write that, or move the journal away",
            was, cluster);
    if (s == ST_OK) {
        l->ours.cluster = mem_strdup(cluster);
        if (strcmp(was, cluster) != 0)
            journal_put_value(l->env->journal, CLUSTER_KEY, cluster, NULL);
    }
    arena_done(&a);
    return s;
}

void ours_close(struct ledger *l)
{
    free(l->ours.cluster);
    l->ours.cluster = NULL;

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
    journal_put_value(l->env->journal, ELDER_KEY, l->ours.elder, NULL);
    incarnation_write(l);
    if (l->ours.cluster)
        journal_put_value(l->env->journal, CLUSTER_KEY, l->ours.cluster, NULL);
    if (*l->ours.join_key)
        journal_put_value(l->env->journal, JOIN_KEY, l->ours.join_key, NULL);
    for (uint32_t i = 0; i < l->ours.providers.n; i++) {
        const struct provider_facts *f = &l->ours.providers.v[i];

        if (*f->place)
            value_write(l, "place", f->name, f->place);
        if (f->listed)
            value_write(l, "listed", f->name, "1");
    }
}

/* Those of one second are numbered; when there are too many, the next one has
 * begun. */
void ours_request_id(struct ledger *l, char ret[MARK_MAX])
{
    struct ours *o = &l->ours;
    struct request_mark m = {.by = o->incarnation};

    if (now_s(l) > o->last_s || ++o->nth == MARK_NTH) {
        o->last_s = now_s(l) > o->last_s ? now_s(l) : o->last_s + 1;
        o->nth = 0;
    }
    snprintf(m.owner, sizeof m.owner, "%s", o->owner);
    m.at_s = o->last_s;
    m.nth = o->nth;
    mark_write(&m, ret);
    if (!l->ha) /* a leader's lease says who launches */
        incarnation_write(l);
}

/* ---- a copy of our journal */

/* Was it launched by a daemon that has our journal's mark, is not this process, and
 * runs now: since the second in which this process began?  Of earlier processes the
 * journal has all, but of one that was restored. */
static bool is_of_copy(const struct ledger *l, const char *request_id,
                       struct request_mark *ret)
{
    const struct ours *o = &l->ours;

    return !l->ha && mark_read(request_id, ret) &&
           strcmp(ret->owner, o->owner) == 0 &&
           (ret->by.starts != o->incarnation.starts ||
            ret->by.chance != o->incarnation.chance) &&
           ret->at_s >= o->alone_s && ret->at_s <= now_s(l) + DAY_S;
}

void ours_found(struct ledger *l, const struct machine *m)
{
    struct ours *o = &l->ours;
    struct request_mark k;
    bool later;

    if (!machine_is_anothers(m) || !is_of_copy(l, m->request_id, &k))
        return;
    later = incarnation_younger(o->incarnation, k.by);
    if (*(later ? o->elder : o->younger))
        return;
    snprintf(later ? o->elder : o->younger, sizeof o->elder, "%s",
             m->request_id);
    if (later)
        journal_put_value(l->env->journal, ELDER_KEY, o->elder, NULL);
    emit(l->env, "journal.copied", l->path, "",
         "%s in %s was launched by another daemon with a copy of this journal, "
         "which began %s",
         m->cloud_id, m->provider,
         later ? "earlier: this daemon launches, drains and ends nothing more "
                 "before `davit adopt`"
               : "later: it is to be stopped");
}

bool ours_stands(const struct ledger *l)
{
    return *l->ours.elder;
}

bool ours_alone(struct ledger *l)
{
    struct ours *o = &l->ours;
    bool was = !*o->elder && !*o->younger;

    if (*o->elder)
        journal_put_value(l->env->journal, ELDER_KEY, "", NULL);
    o->elder[0] = o->younger[0] = '\0';
    o->alone_s = now_s(l) + 1; /* what left in this second, before that */
    return was;
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

    struct request_mark k;

    if (has_mark(request_id))
        return strncmp(request_id + sizeof MARK - 1, l->ours.owner,
                       MARK_OWNER) == 0 &&
                       !is_of_copy(l, request_id, &k)
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
