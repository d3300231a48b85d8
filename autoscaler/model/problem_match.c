/*
 * problem_match.c - may a shape lie on a place, by labels, taints, queues.
 *
 * One question for the planner, whatever the conditions are: a selector holds
 * all of what a shape asks for, a label set all of what a place has.
 */
#include "accel.h"
#include "problem.h"

static bool is_among(const struct problem *s, const struct pb_label *l,
                     const struct pb_term *t)
{
    const uint32_t *v = s->term_values + t->first_value;
    bool accelerator = l->key == s->accelerator_key;

    for (uint32_t i = 0; i < t->n_values; i++)
        if (v[i] == l->value ||
            (accelerator && accel_type_serves(s->str[l->value], s->str[v[i]])))
            return true;
    return false;
}

static bool in_queue(const struct problem *s, uint32_t queue,
                     uint32_t first_label, uint32_t n_labels)
{
    for (uint32_t i = first_label; i < first_label + n_labels; i++)
        if (s->labels[i].key == (PB_QUEUE | queue))
            return true;
    return false;
}

/* The key of the first taint that keeps it away, or NONE. */
static uint32_t taint_found(const struct problem *s,
                            const struct pb_selector *sel,
                            const struct pb_label *l,
                            const struct pb_label *end)
{
    for (; l < end; l++) {
        enum taint_effect effect = (enum taint_effect)(l->key >> PB_EFFECT & 3);
        uint32_t key = l->key & PB_STRING, i = 0;

        if (!(l->key & PB_TAINT) || effect == EFFECT_PREFER_NO_SCHEDULE)
            continue;
        for (; i < sel->n_tolerations; i++) {
            const struct pb_toleration *t =
                &s->tolerations[sel->first_toleration + i];

            if ((t->key == 0 || t->key == key) &&
                (t->effect == EFFECT_ANY || t->effect == effect) &&
                (t->op == TOLERATE_EXISTS || t->value == l->value))
                break;
        }
        if (i == sel->n_tolerations)
            return key;
    }
    return NONE;
}

enum reason problem_refuses(const struct problem *s, uint32_t selector,
                            uint32_t first_label, uint32_t n_labels,
                            uint32_t *ret_key)
{
    const struct pb_selector *sel = &s->selectors[selector];
    const struct pb_label *l = s->labels + first_label;
    const struct pb_label *end = l + n_labels;
    uint32_t unused, *key = ret_key ? ret_key : &unused;

    *key = NONE;
    if (sel->queue == PB_QUEUE_DENIED)
        return REASON_QUEUE_DENIED;
    if (sel->queue != NONE && !in_queue(s, sel->queue, first_label, n_labels)) {
        *key = s->queues[sel->queue].name;
        return REASON_QUEUE_TYPE;
    }
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *t = &s->terms[sel->first_term + i];
        bool in;

        /* Terms and labels are both sorted by key: l only moves on. */
        while (l < end && l->key < t->key)
            l++;
        in = l < end && l->key == t->key && is_among(s, l, t);
        if (in != (t->op == TERM_IN)) {
            *key = t->key;
            return REASON_LABEL;
        }
    }
    *key = taint_found(s, sel, l, end);
    return *key == NONE ? REASON_NONE : REASON_TAINT;
}

bool problem_match(const struct problem *s, uint32_t selector,
                   uint32_t first_label, uint32_t n_labels)
{
    return problem_refuses(s, selector, first_label, n_labels, NULL) ==
           REASON_NONE;
}

uint32_t problem_mismatch(const struct problem *s, uint32_t selector,
                          uint32_t first_label, uint32_t n_labels)
{
    uint32_t key;

    problem_refuses(s, selector, first_label, n_labels, &key);
    return key;
}

bool problem_tolerates(const struct problem *s, uint32_t selector,
                       uint32_t first_label, uint32_t n_labels)
{
    return taint_found(s, &s->selectors[selector], s->labels + first_label,
                       s->labels + first_label + n_labels) == NONE;
}

bool problem_avoided(const struct problem *s, uint32_t first_label,
                     uint32_t n_labels)
{
    for (uint32_t i = first_label; i < first_label + n_labels; i++)
        if ((s->labels[i].key & PB_TAINT) &&
            (s->labels[i].key >> PB_EFFECT & 3) == EFFECT_PREFER_NO_SCHEDULE)
            return true;
    return false;
}

bool problem_queue_has(const struct problem *s, uint32_t queue, uint32_t type)
{
    const struct pb_offer *o = &s->offers[s->types[type].first_offer];

    return queue == NONE || (queue < s->n_queues &&
                             in_queue(s, queue, o->first_label, o->n_labels));
}
