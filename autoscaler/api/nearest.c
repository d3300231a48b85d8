/*
 * nearest.c - of what can never be placed: the node type that comes closest,
 * and all that it lacks.
 *
 * The closest has the least sum of missing shares and wrong labels.
 */
#include <string.h>

#include "../base/suggest.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "../model/meant.h"
#include "view.h"

const char *view_amount(struct view *v, uint32_t column, int64_t a)
{
    const char *name = column < v->s->n_columns
                           ? view_str(v, v->s->columns[column].name)
                           : "";
    char text[40];

    return arena_strdup(&v->arena, amount_pretty(name, a, text, sizeof text));
}

const char *view_label(struct view *v, uint32_t first, uint32_t n, uint32_t key)
{
    for (uint32_t i = 0; i < n; i++)
        if (v->s->labels[first + i].key == key)
            return view_str(v, v->s->labels[first + i].value);
    return NULL;
}

const char *view_label_name(const char *key)
{
    return strcmp(key, ACCEL_LABEL) == 0 ? "accelerator_type" : key;
}

static bool term_holds(struct view *v, const struct pb_term *t, uint32_t first,
                       uint32_t n)
{
    const char *has = view_label(v, first, n, t->key);

    for (uint32_t i = 0; has && i < t->n_values; i++)
        if (strcmp(view_str(v, v->s->term_values[t->first_value + i]), has) ==
            0)
            return t->op == TERM_IN;
    return t->op == TERM_NOT_IN;
}

/* In millionths: 1,000,000 for each wholly missing resource or wrong label. */
static uint64_t distance(struct view *v, const struct pb_shape *shape,
                         const struct pb_type *t)
{
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, t->row);
    const struct pb_offer *o = &v->s->offers[t->first_offer];
    uint64_t sum = 0;

    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            sum += 1 + (uint64_t)(999999.0 * (double)(needs[c] - has[c]) /
                                  (double)needs[c]);
    for (uint32_t i = 0; i < sel->n_terms; i++)
        if (!term_holds(v, &v->s->terms[sel->first_term + i], o->first_label,
                        o->n_labels))
            sum += 1000000;
    return sum;
}

static const struct pb_type *nearest(struct view *v, uint32_t bundle,
                                     const struct pb_shape **ret_shape)
{
    const struct pb_bundle *b = &v->s->bundles[bundle];
    const struct pb_type *best = NULL;
    uint64_t best_sum = UINT64_MAX;

    for (uint32_t a = 0; a < b->n_alts; a++)
        for (uint32_t i = 0; i < v->s->n_types; i++) {
            const struct pb_type *t = &v->s->types[i];
            const struct pb_shape *shape = view_shape(v, bundle, a);
            uint64_t sum;

            if (t->n_offers == 0)
                continue;
            sum = distance(v, shape, t);
            if (sum < best_sum) {
                best = t;
                best_sum = sum;
                *ret_shape = shape;
            }
        }
    return best;
}

/* What the plan has against this type for the bundle, where it is no gang; NULL. */
static const char *refused(struct view *v, uint32_t bundle,
                           const struct pb_type *t)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    const char *name = view_str(v, t->name);

    if (v->s->demands[v->s->bundles[bundle].demand].strategy != STRATEGY_NONE)
        return NULL;
    for (uint32_t i = 0; i < p->n_refusals; i++) {
        const char *text;

        if (view_offer_type(v, v->plan->refusals[p->first_refusal + i].offer) !=
            t)
            continue;
        text = view_obstacle_text(v, p->first_refusal + i);
        return strncmp(text, name, strlen(name)) == 0
                   ? text
                   : arena_printf(&v->arena, "%s: %s", name, text);
    }
    return NULL;
}

/* Each bundle of a gang has room there, all of them as asked for do not. */
static const char *fits_alone(const struct view *v, uint32_t bundle)
{
    switch (v->s->demands[v->s->bundles[bundle].demand].strategy) {
    case STRATEGY_STRICT_PACK:
        return " could hold one of them, not all together (STRICT_PACK)";
    case STRATEGY_STRICT_SPREAD:
        return " could hold one of them, but there cannot be a node for each "
               "(STRICT_SPREAD)";
    case STRATEGY_PACK:
    case STRATEGY_SPREAD: return " could hold one of them, not all at once";
    default: return " could hold it";
    }
}

/* The values that a label has among the offers of all types. */
static uint32_t values_of(struct view *v, const char *key, const char ***ret)
{
    uint32_t n = 0, most = 0;

    for (uint32_t t = 0; t < v->s->n_types; t++)
        most += v->s->types[t].n_offers;
    *ret = ARENA_ARRAY(&v->arena, const char *, most + 1);
    for (uint32_t t = 0; t < v->s->n_types; t++)
        for (uint32_t i = 0; i < v->s->types[t].n_offers; i++) {
            const struct pb_offer *o =
                &v->s->offers[v->s->types[t].first_offer + i];

            for (uint32_t k = 0; k < o->n_labels; k++)
                if (n < most &&
                    strcmp(view_str(v, v->s->labels[o->first_label + k].key),
                           key) == 0)
                    (*ret)[n++] = view_str(
                        v, v->s->labels[o->first_label + k].value);
        }
    return n;
}

/* "; did you mean T4?" of a value that no node type has, or "". */
static const char *value_meant(struct view *v, const struct pb_term *t)
{
    const char **there, *right = NULL;
    uint32_t n = values_of(v, view_str(v, t->key), &there);

    for (uint32_t i = 0; t->op == TERM_IN && i < t->n_values; i++) {
        const char *wanted = view_str(v, v->s->term_values[t->first_value + i]);

        for (uint32_t k = 0; k < n; k++)
            if (strcmp(there[k], wanted) == 0)
                return "";
        /* An H100 is no misspelt V100. */
        if (!right && !accel_type_known(wanted))
            right = suggest(wanted, there, n);
        if (!right && strcmp(view_str(v, t->key), ACCEL_LABEL) == 0)
            right = accel_type_meant(wanted);
    }
    return right ? arena_printf(&v->arena, "; did you mean %s?", right) : "";
}

/* "; did you mean GPU with accelerator_type=A100?" */
static const char *product_meant(struct view *v, const char *name)
{
    const char **there, *right = accel_type_canonical(name);
    uint32_t n = values_of(v, ACCEL_LABEL, &there);
    bool known = accel_type_known(right);

    for (uint32_t i = 0; i < n && !known; i++)
        known = strcmp(there[i], right) == 0;
    return known ? arena_printf(&v->arena,
                                "; did you mean GPU with accelerator_type=%s?",
                                right)
                 : NULL;
}

/* "; did you mean GPU?" of a resource that no node type has, or "". */
static const char *meant_text(struct view *v, uint32_t column)
{
    const char *name = view_str(v, v->s->columns[column].name);
    const char **there = ARENA_ARRAY(&v->arena, const char *, v->s->n_columns);
    const char *right = resource_meant(name);
    uint32_t n = 0;

    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        bool has = false;

        for (uint32_t t = 0; t < v->s->n_types && !has; t++)
            has = pb_row(v->s, v->s->types[t].row)[c] > 0;
        if (has && c == column)
            return "";
        if (has)
            there[n++] = view_str(v, v->s->columns[c].name);
    }
    if (!right && product_meant(v, name))
        return product_meant(v, name);
    if (!right)
        right = suggest_within(name, there, n, strlen(name) > 4 ? 2 : 0);
    return right ? arena_printf(&v->arena, "; did you mean %s?", right) : "";
}

const char *view_misfit_text(struct view *v, uint32_t bundle,
                             const struct pb_type *t,
                             const struct pb_shape *shape)
{
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, t->row);
    const struct pb_offer *o = &v->s->offers[t->first_offer];
    const char *text;
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            buf_printf(
                &b, "%s%s (%s needed, %s there%s)", b.n ? " and " : " lacks ",
                view_str(v, v->s->columns[c].name), view_amount(v, c, needs[c]),
                view_amount(v, c, has[c]), meant_text(v, c));
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *term = &v->s->terms[sel->first_term + i];
        const char *value = view_label(v, o->first_label, o->n_labels,
                                       term->key);

        if (term_holds(v, term, o->first_label, o->n_labels))
            continue;
        buf_printf(&b, "%s %s %s", b.n ? " and" : "", value ? "has" : "has no",
                   view_label_name(view_str(v, term->key)));
        if (value)
            buf_printf(&b, "=%s", value);
        buf_str(&b, value_meant(v, term));
    }
    text = b.n == 0 ? refused(v, bundle, t) : NULL;
    if (b.n == 0)
        buf_str(&b, fits_alone(v, bundle));
    if (!text)
        text = arena_printf(&v->arena, "%s%s", view_str(v, t->name), b.s);
    buf_done(&b);
    return text;
}

const char *view_nearest_text(struct view *v, uint32_t bundle)
{
    const struct pb_shape *shape;
    const struct pb_type *t = nearest(v, bundle, &shape);

    return t ? view_misfit_text(v, bundle, t, shape)
             : "there are no node types";
}

static const char *wanted(struct view *v, const struct pb_term *t)
{
    struct buf b;

    buf_init(&b, 4096);
    buf_str(&b, t->op == TERM_NOT_IN ? "!" : "");
    for (uint32_t i = 0; i < t->n_values; i++)
        buf_printf(&b, "%s%s", i ? "," : "",
                   view_str(v, v->s->term_values[t->first_value + i]));
    return view_take(v, &b);
}

void view_nearest(struct out *o, const char *key, struct view *v,
                  uint32_t bundle)
{
    const struct pb_shape *shape;
    const struct pb_type *t = nearest(v, bundle, &shape);
    const struct pb_selector *sel;
    const int64_t *needs, *has;

    if (!t) {
        out_null(o, key);
        return;
    }
    needs = pb_row(v->s, shape->row);
    has = pb_row(v->s, t->row);
    sel = &v->s->selectors[shape->selector];
    out_object(o, key);
    out_str(o, "type", view_str(v, t->name));
    out_str(o, "provider", view_str(v, t->provider));
    out_array(o, "lacks");
    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        if (needs[c] <= has[c])
            continue;
        out_object(o, NULL);
        out_str(o, "resource", view_str(v, v->s->columns[c].name));
        out_amount(o, "needs", needs[c]);
        out_amount(o, "has", has[c]);
        out_close(o);
    }
    out_close(o);
    out_array(o, "mismatches");
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *term = &v->s->terms[sel->first_term + i];
        const struct pb_offer *of = &v->s->offers[t->first_offer];
        const char *value = view_label(v, of->first_label, of->n_labels,
                                       term->key);

        if (term_holds(v, term, of->first_label, of->n_labels))
            continue;
        out_object(o, NULL);
        out_str(o, "label", view_str(v, term->key));
        out_str(o, "wanted", wanted(v, term));
        out_str_or_null(o, "has", value);
        out_close(o);
    }
    out_close(o);
    out_str(o, "text", view_misfit_text(v, bundle, t, shape));
    out_close(o);
}
