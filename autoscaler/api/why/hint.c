/*
 * hint.c - "did you mean" for names of nodes, node types, owners and demand.
 */
#include "../../base/suggest.h"
#include "../view.h"

const char *view_hint(struct view *v, const char *name, bool nodes_only)
{
    VEC(const char *) names = {0};
    const char *near;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        VEC_PUSH(&v->arena, &names, v->snapshot->nodes[i].id);
    for (uint32_t i = 0; i < v->snapshot->n_types && !nodes_only; i++)
        VEC_PUSH(&v->arena, &names, v->snapshot->types[i].name);
    for (uint32_t i = 0; i < v->s->n_demands && !nodes_only; i++) {
        VEC_PUSH(&v->arena, &names, view_str(v, v->s->demands[i].owner));
        VEC_PUSH(&v->arena, &names, view_str(v, v->s->demands[i].id));
    }
    near = suggest(name, names.v, names.n);
    return near ? arena_printf(&v->arena, "; did you mean %s?", near) : "";
}
