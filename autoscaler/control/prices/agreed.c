/*
 * agreed.c - see agreed.h.
 */
#include "agreed.h"

#include <inttypes.h>
#include <stdio.h>

#include "../type_names.h"

/* In the journal: the max_cost_per_hour of the file in force. */
#define LIMIT_KEY "agreed/max_cost"
enum { VALUE_MAX = 32 };

void agreed_open(struct ledger *l)
{
    struct arena a = {0};
    const char *v = "";

    journal_value(l->env->journal, LIMIT_KEY, &a, &v, NULL);
    l->limit_known = sscanf(v, "%" SCNd64, &l->limit_micros_hour) == 1;
    arena_done(&a);
}

void agreed_rewrite(struct ledger *l)
{
    char v[VALUE_MAX];

    if (!l->limit_known)
        return;
    snprintf(v, sizeof v, "%" PRId64, l->limit_micros_hour);
    /* The commit tells when it fails. */
    journal_put_value(l->env->journal, LIMIT_KEY, v, NULL);
}

/* Who raises the limit wants nothing to be ended. */
static bool lowers(const struct ledger *l, const struct config *conf)
{
    int64_t limit = conf->limits.max_cost_micros_hour;

    return l->limit_known && limit >= 0 &&
           (l->limit_micros_hour < 0 || limit < l->limit_micros_hour);
}

int64_t agreed_of(const struct ledger *l, const struct machine *m,
                  const struct conf_type *t, const struct config *conf)
{
    int64_t bill = type_name_bill(m, t, conf);

    if (bill < 0)
        return m->agreed_micros_hour;
    if (m->agreed_micros_hour < 0 || bill < m->agreed_micros_hour ||
        type_name_filed(m, t) || lowers(l, conf))
        return bill;
    return m->agreed_micros_hour;
}

static void agreed_put(struct ledger *l, struct machine *m, int64_t micros)
{
    if (m->state == STATE_GONE || m->agreed_micros_hour == micros)
        return;
    m->agreed_micros_hour = micros;
    fleet_touch(&l->fleet, m);
}

void agreed_settle(struct ledger *l, struct machine *m,
                   const struct config *conf)
{
    agreed_put(l, m, agreed_of(l, m, type_find(conf, m->type), conf));
}

void agreed_now(struct ledger *l, struct machine *m, const struct config *conf)
{
    int64_t bill = type_name_bill(m, type_find(conf, m->type), conf);

    if (bill >= 0)
        agreed_put(l, m, bill);
}

void agreed_file(struct ledger *l, const struct config *conf)
{
    int64_t limit = conf->limits.max_cost_micros_hour;

    for (uint32_t i = 0; i < l->fleet.n; i++)
        agreed_settle(l, l->fleet.v[i], conf);
    if (l->limit_known && l->limit_micros_hour == limit)
        return;
    l->limit_known = true;
    l->limit_micros_hour = limit;
    agreed_rewrite(l);
}
