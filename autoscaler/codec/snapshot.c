/*
 * snapshot.c - snapshot.json, both ways: docs/snapshot.md in C.
 *
 * Every value has a default that makes a small file mean what one expects:
 * nodes are ready and all free, types have one on-demand offer.  What is at
 * its default is not written, so that a file shows what matters.
 */
#include "codec.h"
#include "fields.h"
#include "inside.h"
#include "v01.h"

_Static_assert((int)REASON_COUNT <= READER_WORDS_MAX, "READER_WORDS_MAX");

const char *reason_word(size_t i)
{
    return reason_code((enum reason)i);
}

const char *source_word(size_t i)
{
    return source_name((enum demand_source)i);
}

enum status codec_snapshot_read(json_t *root, struct arena *arena,
                                struct snapshot **ret, struct err *err)
{
    static const char *const keys[] = {
        "schema",       "name",        "note",          "about",     "expect",
        "cluster",      "now_ms",      "sources_fresh", "max_nodes", "limits",
        "node_types",   "nodes",       "demands",       "gangs",     "requests",
        "queues",       "proposed",    "plan",          "recorded",  "unhelped",
        "work_unknown", "work_spreads"};
    struct err unused;
    struct reader in = {arena, err ? err : &unused};
    struct snapshot *s = ARENA_NEW(arena, struct snapshot);

    codec_v01_update(root);
    s->cluster = "";
    s->sources_fresh = true;
    if (!reader_object(&in, NULL, root, keys, COUNT(keys)) ||
        !reader_get_text(&in, NULL, root, "cluster", &s->cluster) ||
        !reader_get_int(&in, NULL, root, "now_ms", 0, TIME_MAX, &s->now_ms) ||
        !reader_get_bool(&in, NULL, root, "sources_fresh", &s->sources_fresh) ||
        !reader_get_bool(&in, NULL, root, "work_unknown", &s->work_unknown) ||
        !reader_get_bool(&in, NULL, root, "work_spreads", &s->work_spreads) ||
        !limits_read(&in, root, &s->limits) || !types_read(&in, root, s) ||
        !queues_read(&in, root, s) || !nodes_read(&in, root, s) ||
        !demands_read(&in, root, s) || !proposed_read(&in, root, s) ||
        !unhelped_read(&in, root, s))
        return ST_INVALID;
    *ret = s;
    return ST_OK;
}

json_t *codec_snapshot_write(const struct snapshot *s)
{
    json_t *o = json_object();

    put_text(o, "cluster", s->cluster);
    if (s->now_ms)
        json_object_set_new(o, "now_ms", json_integer(s->now_ms));
    if (!s->sources_fresh)
        json_object_set_new(o, "sources_fresh", json_false());
    if (s->work_unknown)
        json_object_set_new(o, "work_unknown", json_true());
    if (s->work_spreads)
        json_object_set_new(o, "work_spreads", json_true());
    json_object_set_new(o, "limits", limits_write(&s->limits));
    json_object_set_new(o, "node_types", types_write(s));
    json_object_set_new(o, "nodes", nodes_write(s));
    demands_write(o, s);
    if (s->n_queues > 0)
        json_object_set_new(o, "queues", queues_write(s->queues, s->n_queues));
    if (s->n_proposed > 0)
        json_object_set_new(o, "proposed",
                            proposed_write(s->proposed, s->n_proposed));
    if (s->n_unhelped > 0)
        json_object_set_new(o, "unhelped",
                            unhelped_write(s->unhelped, s->n_unhelped));
    return o;
}
