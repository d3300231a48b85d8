/*
 * writer.c - who else writes replicas.
 *
 * Two autoscalers on one group raise and end each other's pods, and each looks
 * broken by itself.  The API server notes who wrote which field last: when
 * replicas are not as we left them, that name is reported.
 */
#include <stdio.h>
#include <string.h>

#include "k8s.h"

#define TELL_MS 30000 /* at most so often */

/* Who of others wrote workerGroupSpecs last, "" nobody. */
static void writer_name(const json_t *raycluster, char *ret, size_t size)
{
    const char *newest = "";
    size_t i;
    json_t *m;
    snprintf(ret, size, "%s", "");
    json_array_foreach(kit_json_at(raycluster, "metadata.managedFields"), i,
                       m) {
        const char *who = kit_json_text(m, "manager");
        const char *when = kit_json_text(m, "time");
        const json_t *fields = kit_json_at(m, "fieldsV1.f:spec");
        if (!json_object_get(fields, "f:workerGroupSpecs") ||
            strcmp(who, "davit") == 0 || *kit_json_text(m, "subresource"))
            continue;
        if (*newest == '\0' || strcmp(when, newest) >= 0) {
            newest = *when != '\0' ? when : newest;
            snprintf(ret, size, "%s", who);
        }
    }
}

void writer_begins(struct k8s *k)
{
    pthread_mutex_lock(&k->lock);
    k->writing++;
    pthread_mutex_unlock(&k->lock);
}

void writer_ends(struct k8s *k, const struct cluster *c, bool good, bool unsure)
{
    pthread_mutex_lock(&k->lock);
    k->writing--;
    k->writes++;
    for (size_t i = 0; i < c->n; i++) {
        const struct group *g = &c->v[i];
        if (g->replicas_new && good)
            json_object_set_new(k->wrote, g->name, json_integer(g->replicas));
        else if (g->replicas_new && unsure)
            json_object_del(k->wrote, g->name);
    }
    pthread_mutex_unlock(&k->lock);
}

void writer_watch(struct op *op, const struct cluster *c)
{
    struct k8s *k = op->k;
    char who[64], line[400];
    int64_t now = k->host->wall_ms();
    for (size_t i = 0; i < c->n; i++) {
        const struct group *g = &c->v[i];
        pthread_mutex_lock(&k->lock);
        json_t *wrote = json_object_get(k->wrote, g->name);
        json_int_t ours = json_integer_value(wrote);
        /* Not by what was read while a write of ours was under way. */
        bool other = k->writing == 0 && c->writes == k->writes && wrote &&
                     ours != (json_int_t)g->said;
        bool tell = other && (now < k->told_ms || now - k->told_ms > TELL_MS);
        if (tell)
            k->told_ms = now;
        if (other)
            json_object_set_new(k->wrote, g->name, json_integer(g->said));
        pthread_mutex_unlock(&k->lock);
        if (!tell)
            continue;
        writer_name(c->json, who, sizeof who);
        snprintf(line, sizeof line,
                 "replicas of worker group %.60s is %u now, we had written "
                 "%lld: %s writes it too; two autoscalers on one group undo "
                 "each other's work",
                 g->name, g->said, (long long)ours,
                 *who != '\0' ? who : "another davit");
        k->host->log(1, line);
    }
}
