/*
 * kube_state.c - rows in ConfigMaps.
 *
 * How many maps there are is a mark on the first, raised before one is made:
 * a later leader marks the first one first, so what it reads there is all.
 * A row's key is its kind and its id with everything but letters, digits and
 * '-' as _XX, cut and hashed when it gets long; the row itself holds the id.
 * A write is a merge patch of the changed keys of one shard: a lost reply is
 * no harm, since the same patch leads to the same data.
 */
#include "kube_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../base/text.h"

#define FENCE "davit.io/fence"
#define HOLDER "davit.io/holder"
#define LABEL "davit.io/state"
#define MAPS "davit.io/maps"
enum { LONGEST_KEY = 200, TRIES = 4, PATH_MAX_ = 640 };

struct kube_state {
    struct kube *kube;
    char *space, *name, *identity;
    int64_t token;
    struct kube_maps maps;
    bool touched;    /* a write met what somebody else had done */
    unsigned marked; /* maps that the first one's mark speaks of */
    char version[KUBE_MAPS_MOST][64]; /* "" : not known */
    json_t *stale[KUBE_MAPS_MOST]; /* keys to be taken out of it; NULL: none */
};

struct kube_state *kube_state_new(struct kube *k, const char *space,
                                  const char *name, int64_t token,
                                  const char *identity)
{
    struct kube_state *s = MEM_NEW(struct kube_state);
    s->kube = k;
    s->space = mem_strdup(space);
    s->name = mem_strdup(name);
    s->identity = mem_strdup(identity);
    s->token = token;
    s->marked = KUBE_MAPS_FIRST;
    kube_maps_init(&s->maps);
    return s;
}

void kube_state_free(struct kube_state *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < KUBE_MAPS_MOST; i++)
        json_decref(s->stale[i]);
    kube_maps_done(&s->maps);
    free(s->space);
    free(s->name);
    free(s->identity);
    free(s);
}

/* ---- keys */

/* FNV-1a of 32 bits: where rows of earlier versions lie depends on it. */
static uint32_t hash_of(const char *a, const char *b)
{
    uint32_t h = 2166136261u;

    for (const char *p = a; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    for (const char *p = b; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    return h;
}

unsigned kube_state_shard(const char *kind, const char *id)
{
    return hash_of(kind, id) % KUBE_MAPS_FIRST;
}

static void key_write(const struct mirror_row *row, struct buf *key)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

    buf_clear(key);
    buf_printf(key, "%s.", row->kind);
    for (const char *p = row->id; *p && key->n < LONGEST_KEY; p++) {
        if (strchr(plain, *p))
            buf_add(key, p, 1);
        else
            buf_printf(key, "_%02X", (unsigned char)*p);
    }
    if (key->n >= LONGEST_KEY)
        buf_printf(key, ".%08x%08x", hash_of(row->id, ""),
                   hash_of("x", row->id));
}

/* ---- one ConfigMap */

static void path_write(const struct kube_state *s, int shard, char *path)
{
    if (shard < 0)
        snprintf(path, PATH_MAX_, "/api/v1/namespaces/%s/configmaps", s->space);
    else
        snprintf(path, PATH_MAX_, "/api/v1/namespaces/%s/configmaps/%s-%d",
                 s->space, s->name, shard);
}

static enum status ask(struct kube_state *s, const char *method, int shard,
                       json_t *body, json_t **ret, struct err *err)
{
    char path[PATH_MAX_], *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct kube_call call = {.method = method, .path = path, .body = text};
    enum status st;

    path_write(s, strcmp(method, "POST") == 0 ? -1 : shard, path);
    if (strcmp(method, "PATCH") == 0)
        call.content_type = KUBE_MERGE_PATCH;
    st = kube_do(s->kube, &call, err);
    free(text);
    *ret = call.reply;
    return st;
}

static const char *text_at(const json_t *o, const char *a, const char *b)
{
    const char *t = json_string_value(
        json_object_get(json_object_get(o, a), b));

    return t ? t : "";
}

static const char *note_of(const json_t *map, const char *key)
{
    return text_at(json_object_get(map, "metadata"), "annotations", key);
}

static int64_t fence_of(const json_t *map)
{
    return strtoll(note_of(map, FENCE), NULL, 10);
}

static void version_keep(struct kube_state *s, int shard, const json_t *map)
{
    snprintf(s->version[shard], sizeof s->version[shard], "%s",
             text_at(map, "metadata", "resourceVersion"));
}

/* metadata with our marks, and the guard. */
static json_t *meta_make(const struct kube_state *s, int shard)
{
    char fence[24], name[300];
    json_t *meta;

    snprintf(fence, sizeof fence, "%lld", (long long)s->token);
    snprintf(name, sizeof name, "%s-%d", s->name, shard);
    meta = json_pack("{s:s,s:{s:s},s:{s:s,s:s}}", "name", name, "labels", LABEL,
                     s->name, "annotations", FENCE, fence, HOLDER, s->identity);
    if (shard == 0 && s->maps.n > KUBE_MAPS_FIRST) {
        snprintf(fence, sizeof fence, "%u", s->maps.n);
        json_object_set_new(json_object_get(meta, "annotations"), MAPS,
                            json_string(fence));
    }
    if (*s->version[shard])
        json_object_set_new(meta, "resourceVersion",
                            json_string(s->version[shard]));
    return meta;
}

static enum status replaced(const struct kube_state *s, const json_t *map,
                            struct err *err)
{
    return err_set(err, ST_CANCELLED,
                   "another leader, \"%s\" with token %lld, has taken over "
                   "%s/%s from us (token %lld)",
                   note_of(map, HOLDER), (long long)fence_of(map), s->space,
                   s->name, (long long)s->token);
}

/* Reads a shard again: its version, and whether a later leader has it. */
static enum status look(struct kube_state *s, int shard, json_t **ret,
                        struct err *err)
{
    enum status st = ask(s, "GET", shard, NULL, ret, err);

    if (st == ST_NOT_FOUND)
        s->version[shard][0] = '\0';
    if (st != ST_OK)
        return st;
    if (fence_of(*ret) > s->token) {
        st = replaced(s, *ret, err);
        json_decref(*ret);
        *ret = NULL;
        return st;
    }
    version_keep(s, shard, *ret);
    return ST_OK;
}

static bool conflict(enum status st, const struct err *err)
{
    return st == ST_RETRY && (strcmp(err->code, "Conflict") == 0 ||
                              strcmp(err->code, "AlreadyExists") == 0);
}

/* A null removes a key; what is made has none to remove. */
static void data_put(json_t *body, json_t *data, bool there)
{
    json_t *v, *only = json_object();
    const char *key;

    json_object_foreach(data, key, v)
        if (there || !json_is_null(v))
            json_object_set(only, key, v);
    json_object_set_new(body, "data", only);
}

/* Patches, or makes, the shard with these data (taken over; NULL: none).  Lost
 * races against nobody but our own lost replies are run again. */
static enum status shard_put(struct kube_state *s, int shard, json_t *data,
                             json_t **ret, struct err *err)
{
    enum status st = ST_RETRY;

    *ret = NULL;
    for (int i = 0; i < TRIES; i++) {
        bool there = *s->version[shard];
        json_t *body = json_pack("{s:s,s:s,s:o}", "apiVersion", "v1", "kind",
                                 "ConfigMap", "metadata", meta_make(s, shard));
        json_t *seen = NULL;

        if (data)
            data_put(body, data, there);
        st = ask(s, there ? "PATCH" : "POST", shard, body, ret, err);
        json_decref(body);
        if (st == ST_OK) {
            version_keep(s, shard, *ret);
            break;
        }
        json_decref(*ret);
        *ret = NULL;
        if (!conflict(st, err) && st != ST_NOT_FOUND)
            break;
        s->touched = true; /* or our own reply was lost */
        st = look(s, shard, &seen, err);
        json_decref(seen);
        if (st != ST_OK && st != ST_NOT_FOUND)
            break;
        st = ST_RETRY;
    }
    json_decref(data);
    return st;
}

/* ---- all of it */

/* Only who it is, and of which version. */
static enum status meta_ask(struct kube_state *s, unsigned map, json_t **ret,
                            struct err *err)
{
    char path[PATH_MAX_];
    struct kube_call call = {
        .method = "GET", .path = path, .accept = KUBE_METADATA};
    enum status st;

    path_write(s, (int)map, path);
    st = kube_do(s->kube, &call, err);
    *ret = call.reply;
    return st;
}

struct rows {
    VEC(struct mirror_row) v;
};

/* The copy of it in this map is to be taken out; until it is, it has its room
 * there. */
static void stale_note(struct kube_state *s, const char *key, unsigned map,
                       uint32_t bytes)
{
    if (!s->stale[map])
        s->stale[map] = json_object();
    json_object_set_new(s->stale[map], key, json_integer(bytes));
    s->maps.used[map] += bytes;
}

/* It is not to be taken out any more, or has been. */
static void stale_end(struct kube_state *s, const char *key, unsigned map)
{
    s->maps.used[map] -= (size_t)json_integer_value(
        json_object_get(s->stale[map], key));
    json_object_del(s->stale[map], key);
}

static void row_read(struct kube_state *s, unsigned shard, const char *key,
                     const char *text, struct arena *arena, struct rows *to)
{
    const struct kube_place *lower = kube_maps_find(&s->maps, key);
    const char *dot = strchr(key, '.');

    if (lower) {
        stale_note(s, key, lower->map, lower->bytes);
        for (uint32_t i = 0; i < to->v.n; i++)
            if (strcmp(to->v.v[i].id, dot + 1) == 0 &&
                strncmp(to->v.v[i].kind, key, (size_t)(dot - key)) == 0)
                to->v.v[i].json = NULL;
    }
    kube_maps_note(&s->maps, key, shard, strlen(text));
    VEC_PUSH(arena, &to->v,
             ((struct mirror_row){
                 .kind = arena_strndup(arena, key, (size_t)(dot - key)),
                 .id = arena_strdup(arena, dot + 1),
                 .json = arena_strdup(arena, text)}));
}

static void rows_read(struct kube_state *s, unsigned shard, const json_t *map,
                      struct arena *arena, struct rows *to)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(map, "data"), key, value)
        if (strchr(key, '.') && json_string_value(value))
            row_read(s, shard, key, json_string_value(value), arena, to);
}

/* Every leader marks the first shard first. */
enum status kube_state_fence(struct kube *k, const char *space,
                             const char *name, int64_t *ret, struct err *err)
{
    struct kube_state *s = kube_state_new(k, space, name, INT64_MAX, "");
    json_t *map = NULL;
    enum status st = look(s, 0, &map, err);

    *ret = fence_of(map);
    json_decref(map);
    kube_state_free(s);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* Marks the map as ours and reads it, as our own mark left it. */
static enum status map_open(struct kube_state *s, unsigned shard,
                            struct arena *arena, struct rows *to,
                            struct err *err)
{
    json_t *map = NULL;
    enum status st = look(s, (int)shard, &map, err);
    unsigned long n;

    json_decref(map);
    map = NULL;
    if (st == ST_OK || st == ST_NOT_FOUND)
        st = shard_put(s, (int)shard, NULL, &map, err);
    if (st != ST_OK)
        return st;
    n = strtoul(note_of(map, MAPS), NULL, 10);
    if (shard == 0 && n > KUBE_MAPS_FIRST && n <= KUBE_MAPS_MOST)
        s->maps.n = s->marked = (unsigned)n;
    rows_read(s, shard, map, arena, to);
    json_decref(map);
    return ST_OK;
}

enum status kube_state_open(struct kube_state *s, struct arena *arena,
                            struct mirror_row **ret, uint32_t *n,
                            struct err *err)
{
    struct rows rows = {{0}};
    enum status st = ST_OK;

    kube_maps_done(&s->maps); /* of a first try that failed */
    kube_maps_init(&s->maps);
    for (unsigned shard = 0; shard < s->maps.n && st == ST_OK; shard++)
        st = map_open(s, shard, arena, &rows, err);
    *ret = rows.v.v;
    *n = rows.v.n;
    return st;
}

/* A text that was cut within a character is no UTF-8, which would leave the
 * whole row out. */
static json_t *row_text(const char *text)
{
    json_t *v = json_string(text);
    char *copy;

    if (v)
        return v;
    copy = mem_strdup(text);
    text_clean(copy, strlen(copy));
    v = mem_must(json_string(copy));
    free(copy);
    return v;
}

static void data_add(json_t **data, const char *key, json_t *value)
{
    if (!*data)
        *data = json_object();
    json_object_set_new(*data, key, value);
}

/* Where the row is: also a copy behind the first maps that is to be taken out,
 * since it would hold against one further down. */
static const struct kube_place *place_of(struct kube_state *s, const char *key)
{
    const struct kube_place *p = kube_maps_find(&s->maps, key);

    for (unsigned map = s->maps.n; !p && map-- > KUBE_MAPS_FIRST;) {
        json_t *bytes = json_object_get(s->stale[map], key);
        uint32_t n = (uint32_t)json_integer_value(bytes);

        if (!bytes)
            continue;
        stale_end(s, key, map);
        p = kube_maps_put(&s->maps, key, map, n);
    }
    return p;
}

/* Into the patch of its map; false: there is no room for it. */
static bool row_place(struct kube_state *s, const struct mirror_row *row,
                      const char *key, json_t **data)
{
    const struct kube_place *old = place_of(s, key);
    unsigned first = kube_state_shard(row->kind, row->id), map;
    unsigned was = old ? old->map : first;
    uint32_t bytes = old ? old->bytes : 0;
    json_t *text = row->json ? row_text(row->json) : NULL;

    map = was;
    if (text)
        map = kube_maps_choose(&s->maps, key, first, json_string_length(text));
    if (map == KUBE_MAPS_MOST) {
        json_decref(text);
        return false;
    }
    stale_end(s, key, map);
    if (!text)
        kube_maps_drop(&s->maps, key);
    else
        kube_maps_note(&s->maps, key, map, json_string_length(text));
    if (!text || (old && map != was)) {
        stale_note(s, key, was, bytes);
        json_object_del(data[was], key);
    }
    if (text)
        data_add(&data[map], key, text);
    return true;
}

/* Takes the copies out of their map that do not hold. */
static enum status stale_write(struct kube_state *s, unsigned map,
                               struct err *err)
{
    json_t *nulls = json_object(), *reply = NULL, *v;
    enum status st;
    const char *key;
    void *next;

    json_object_foreach(s->stale[map], key, v)
        json_object_set_new(nulls, key, json_null());
    st = shard_put(s, (int)map, nulls, &reply, err);
    json_decref(reply);
    if (st != ST_OK)
        return st;
    json_object_foreach_safe(s->stale[map], next, key, v)
        stale_end(s, key, map);
    return ST_OK;
}

/* The maps one by one, and only then out of them what moved up or is gone: from
 * below, so that a copy further up holds as long as there is one. */
static enum status maps_write(struct kube_state *s, json_t **data,
                              struct err *err)
{
    enum status st = ST_OK;

    if ((s->maps.n > s->marked || !*s->version[0]) && !data[0])
        data[0] = json_object(); /* for its marks, which come first */
    for (unsigned map = 0; map < s->maps.n && st == ST_OK; map++) {
        json_t *reply = NULL;

        if (!data[map])
            continue;
        st = shard_put(s, (int)map, json_incref(data[map]), &reply, err);
        json_decref(reply);
        if (st == ST_OK && map == 0)
            s->marked = s->maps.n;
    }
    for (unsigned map = 0; map < s->maps.n && st == ST_OK; map++)
        if (json_object_size(s->stale[map]))
            st = stale_write(s, map, err);
    return st;
}

enum status kube_state_write(struct kube_state *s,
                             const struct mirror_row *rows, uint32_t n,
                             struct err *err)
{
    json_t *data[KUBE_MAPS_MOST] = {NULL};
    enum status st = ST_OK;
    struct buf key;

    buf_init(&key, 4096);
    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        key_write(&rows[i], &key);
        if (!row_place(s, &rows[i], key.s, data))
            st = err_set(err, ST_INVALID,
                         "there is no room for the %s \"%.80s\" in %d "
                         "ConfigMaps of %s/%s",
                         rows[i].kind, rows[i].id, KUBE_MAPS_MOST, s->space,
                         s->name);
    }
    buf_done(&key);
    if (st == ST_OK)
        st = maps_write(s, data, err);
    for (unsigned map = 0; map < KUBE_MAPS_MOST; map++)
        json_decref(data[map]);
    return st;
}

/* What lies there and is not ours is taken out with the next write. */
static void others_note(struct kube_state *s, unsigned map, const json_t *now)
{
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(now, "data"), key, v) {
        const struct kube_place *p = kube_maps_find(&s->maps, key);

        if ((!p || p->map != map) && !json_object_get(s->stale[map], key))
            stale_note(s, key, map, (uint32_t)json_string_length(v));
    }
}

/* all: also where the version is the one that we know. */
static enum status map_check(struct kube_state *s, unsigned map, bool all,
                             bool *lacks, struct err *err)
{
    json_t *now = NULL;
    enum status st = meta_ask(s, map, &now, err);
    bool same = strcmp(text_at(now, "metadata", "resourceVersion"),
                       s->version[map]) == 0;

    json_decref(now);
    now = NULL;
    if (st == ST_NOT_FOUND) {
        *lacks = *lacks || *s->version[map];
        s->version[map][0] = '\0';
        return ST_OK;
    }
    if (st != ST_OK || (same && !all))
        return st;
    *lacks = *lacks || !same;
    st = look(s, (int)map, &now, err);
    if (st == ST_OK)
        others_note(s, map, now);
    json_decref(now);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

enum status kube_state_check(struct kube_state *s, bool *ret_lacks,
                             struct err *err)
{
    bool all = s->touched;
    enum status st = ST_OK;

    *ret_lacks = s->touched;
    for (unsigned map = 0; map < s->marked && st == ST_OK; map++)
        st = map_check(s, map, all, ret_lacks, err);
    if (st == ST_OK)
        s->touched = false;
    return st;
}

unsigned kube_state_percent(const struct kube_state *s)
{
    return kube_maps_percent(&s->maps);
}
