/*
 * ledger.c - requests remembered in an agent pool's tags.
 *
 * A pool knows a count and no more, so the same PUT that raises the count also
 * writes down for which request it did, under the pool's eTag: either both
 * happened or neither, whatever became of the reply or of us.  Scale-set
 * instances are numbered upwards and never again, so that a request's machines
 * are those from one number to another.
 *
 * davit-requests-0 ... -7 hold "ID COUNT FROM TO SECONDS" joined by "; ", whole
 * records, up to 256 characters each, which is Azure's limit for a tag.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define TAGS 8
#define TAG_MAX 256
#define TAG_NAME "davit-requests-"
#define OWNER_NAME "davit-cluster"
#define ID_CODED_MAX 180

/* Tag names are compared without regard to case. */
static const char *tag(const json_t *tags, const char *name)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)tags, key, v)
        if (strcasecmp(key, name) == 0 && json_is_string(v))
            return json_string_value(v);
    return "";
}

const char *ledger_owner(const json_t *tags)
{
    return tag(tags, OWNER_NAME);
}

void ledger_own(json_t *tags, const char *cluster)
{
    if (tag(tags, OWNER_NAME)[0] == '\0')
        json_object_set_new(tags, OWNER_NAME, json_string(cluster));
}

bool ledger_id_fits(const char *id)
{
    char coded[ID_CODED_MAX + 1] = "";
    return id[0] != '\0' && strlen(id) < sizeof((struct record *)0)->id &&
           kit_url_append(coded, sizeof coded, id);
}

static void record_read(const char *text, size_t len, struct ledger *l)
{
    char line[TAG_MAX + 1], coded[TAG_MAX + 1];
    struct record r = {0};
    if (len > TAG_MAX || l->n == RECORDS_MAX)
        return;
    memcpy(line, text, len);
    line[len] = '\0';
    if (sscanf(line, "%256s %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNd64,
               coded, &r.count, &r.from, &r.to, &r.at_s) != 5 ||
        (kit_decode(coded), strlen(coded)) >= sizeof r.id)
        return; /* somebody edited it */
    snprintf(r.id, sizeof r.id, "%.127s", coded);
    l->v[l->n++] = r;
}

static int by_from(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1)
                              : (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

void ledger_read(const json_t *tags, struct ledger *ret)
{
    ret->n = 0;
    for (int i = 0; i < TAGS; i++) {
        char name[32];
        snprintf(name, sizeof name, TAG_NAME "%d", i);
        const char *s = tag(tags, name);
        while (*s != '\0') {
            size_t len = strcspn(s, ";");
            record_read(s, len, ret);
            s += len + strspn(s + len, "; ");
        }
    }
    qsort(ret->v, ret->n, sizeof *ret->v, by_from);
}

static void ours_remove(json_t *tags)
{
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(
        tags, next, key, v) if (strncasecmp(key, TAG_NAME, strlen(TAG_NAME)) ==
                                0) json_object_del(tags, key);
}

bool ledger_write(const struct ledger *l, json_t *tags)
{
    char value[TAG_MAX + 1] = "", name[32];
    size_t n = 0;
    int used = 0;
    ours_remove(tags);
    for (size_t i = 0; i <= l->n; i++) {
        char coded[400] = "", line[TAG_MAX + 1] = "";
        size_t len = 0;
        if (i < l->n) {
            const struct record *r = &l->v[i];
            kit_url_append(coded, sizeof coded, r->id);
            len = (size_t)snprintf(line, sizeof line,
                                   "%s %" PRIu32 " %" PRId64 " %" PRId64
                                   " %" PRId64,
                                   coded, r->count, r->from, r->to, r->at_s);
        }
        if (n > 0 && (i == l->n || n + 2 + len > TAG_MAX)) {
            if (used == TAGS)
                return false;
            snprintf(name, sizeof name, TAG_NAME "%d", used++);
            json_object_set_new(tags, name, json_string(value));
            n = 0;
        }
        if (i < l->n)
            n += (size_t)snprintf(value + n, sizeof value - n, "%s%s",
                                  n > 0 ? "; " : "", line);
    }
    return true;
}

uint32_t ledger_granted(const struct ledger *l, const char *id)
{
    uint32_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].id, id) == 0)
            n += l->v[i].count;
    return n;
}

void ledger_drop(struct ledger *l, size_t i)
{
    memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof *l->v);
    l->n--;
}
