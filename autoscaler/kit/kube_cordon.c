/*
 * kube_cordon.c - a Kubernetes node cordoned for a person, and given back.
 *
 * What we changed is written beside it: a node that somebody else had cordoned
 * stays so.  A drain has its own marks (kube_node.c); a cordon that ends while
 * one is under way leaves it to the drain to make the node schedulable again.
 */
#include <string.h>

#include "json.h"
#include "kube_node.h"

static json_t *patch_of(const json_t *node, bool on)
{
    json_t *notes = json_object();
    json_t *patch = json_pack("{s:{s:o}}", "metadata", "annotations", notes);
    bool draining = kube_node_drained_since(node, 1) != 0;

    json_object_set_new(notes, KUBE_CORDON_NOTE,
                        on ? json_string("true") : json_null());
    if (!on && draining)
        json_object_set_new(notes, KUBE_DRAIN_CORDONED, json_string("true"));
    else
        json_object_set_new(patch, "spec",
                            json_pack("{s:b}", "unschedulable", on));
    return patch;
}

/* Is there anything to do? */
static bool differs(const json_t *node, bool on)
{
    const json_t *notes = kit_json_at(node, "metadata.annotations");
    bool noted = json_object_get(notes, KUBE_CORDON_NOTE);

    return on ? !noted && !kit_json_true(node, "spec.unschedulable") : noted;
}

enum davit_status kube_cordon(const struct kube_io *io, const char *name,
                              bool on, struct davit_error *e)
{
    enum { TRIES = 3 };
    enum davit_status st = DAVIT_OK;

    for (int i = 0; i < TRIES; i++) {
        json_t *node;
        bool there;

        st = kube_node_get(io, name, &node, &there, e);
        if (st != DAVIT_OK)
            return st;
        if (there && differs(node, on))
            st = kube_node_patch(io, node, patch_of(node, on), e);
        json_decref(node);
        if (st == DAVIT_OK || strcmp(e->code, "Conflict") != 0)
            return st;
    }
    return st;
}
