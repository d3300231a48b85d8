/*
 * node.c - nodes, both ways.
 */
#include "codec.h"
#include "fields.h"
#include "inside.h"

static const char *state_word(size_t i)
{
    return state_name((enum machine_state)i);
}

#define AT(field) .at = offsetof(struct snap_node, field)
static const struct field fields[] = {
    {"id", FIELD_TEXT, AT(id)},
    {"type", FIELD_TEXT, AT(type)},
    {"state", FIELD_WORD, AT(state), .name_of = state_word, .max = STATE_COUNT,
     .usual = STATE_READY, .always = true},
    {"zone", FIELD_TEXT, AT(zone)},
    {"spot", FIELD_BOOL, AT(spot)},
    {"head", FIELD_BOOL, AT(head)},
    {"unmanaged", FIELD_BOOL, AT(unmanaged)},
    {"outdated", FIELD_BOOL, AT(outdated)},
    {"cordoned", FIELD_BOOL, AT(cordoned)},
    {"asked_to_end", FIELD_BOOL, AT(asked_to_end)},
    {"moves", FIELD_BOOL, AT(moves)},
    {"end_void", FIELD_BOOL, AT(end_void)},
    {"host_group", FIELD_TEXT, AT(host_group)},
    {"progress_ms", FIELD_I64, AT(progress_ms), .max = TIME_MAX},
    {"idle_ms", FIELD_I64, AT(idle_ms), .min = -1, .max = TIME_MAX,
     .usual = -1},
    {"since_ms", FIELD_I64, AT(since_ms), .max = TIME_MAX},
    {"created_ms", FIELD_I64, AT(created_ms), .max = TIME_MAX},
    {"price", FIELD_DOLLARS, AT(price_micros_hour), .usual = -1},
    {"agreed_price", FIELD_DOLLARS, AT(agreed_micros_hour), .usual = -1},
    {"counted_on", FIELD_BOOL, AT(counted_on)},
    {"hold", FIELD_WORD, AT(hold), .name_of = reason_word, .max = REASON_COUNT,
     .usual = REASON_NONE},
    {"hold_until_ms", FIELD_I64, AT(hold_until_ms), .max = TIME_MAX},
    {"activity", FIELD_TEXT, AT(activity)},
    {"cloud_id", FIELD_TEXT, AT(cloud_id)},
    {"address", FIELD_TEXT, AT(address)},
    {"ray_id", FIELD_TEXT, AT(ray_id)},
    {"provider", FIELD_TEXT, AT(provider)},
    {"request_id", FIELD_TEXT, AT(request_id)},
    {"note", FIELD_TEXT, AT(note)},
    {"asked_by", FIELD_TEXT, AT(asked_by)},
    {"because", FIELD_TEXT, AT(because)},
};
#undef AT

/* All of a node is free unless "available" is given. */
static bool room_read(struct reader *in, const struct path *at, const json_t *v,
                      struct snap_node *n)
{
    if (!resources_get(in, at, v, "total", QUANTITY_ANY, &n->total))
        return false;
    n->available = n->total;
    n->available.v = arena_copy(in->arena, n->total.v,
                                n->total.n * sizeof *n->total.v);
    if (!resources_get(in, at, v, "available", QUANTITY_ANY, &n->available))
        return false;
    if (n->available.n > 0 && n->total.n == 0)
        return reader_bad(in, PATH_KEY(at, "available"),
                          "is given without \"total\"");
    if (n->total.n == 0)
        n->available = (struct qtys){0};
    return true;
}

static bool node_read(struct reader *in, const struct path *at, const json_t *v,
                      void *ret)
{
    static const char *const others[] = {
        "total",  "available",        "labels",
        "taints", "accelerator_type", "previous"};
    struct snap_node *n = ret;

    if (!fields_read(in, at, v, fields, COUNT(fields), others, COUNT(others),
                     n))
        return false;
    if (!n->id[0])
        return reader_bad(in, at, "needs an \"id\"");
    /* Ray repeats the marker of the accelerator in what is available. */
    return room_read(in, at, v, n) &&
           labels_read(in, at, v, &n->total, &n->labels) &&
           taints_read(in, at, v, &n->taints) &&
           previous_read(in, at, v, "previous", &n->previous);
}

bool nodes_read(struct reader *in, const json_t *root, struct snapshot *s)
{
    struct reader_items nodes = {0};

    if (!reader_items(in, NULL, root, "nodes", node_read, NULL,
                      sizeof(struct snap_node), &nodes))
        return false;
    s->nodes = nodes.v;
    s->n_nodes = nodes.n;
    return true;
}

static json_t *node_write(const struct snap_node *n)
{
    json_t *o = json_object();

    fields_write(o, fields, COUNT(fields), n);
    if (n->total.n > 0) {
        json_object_set_new(o, "total", resources_write(&n->total));
        json_object_set_new(o, "available", resources_write(&n->available));
    }
    labels_write(o, &n->labels);
    taints_write(o, &n->taints);
    if (n->previous.n > 0)
        json_object_set_new(o, "previous", codec_previous_write(&n->previous));
    return o;
}

json_t *nodes_write(const struct snapshot *s)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < s->n_nodes; i++)
        json_array_append_new(list, node_write(&s->nodes[i]));
    return list;
}
