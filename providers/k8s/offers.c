/*
 * offers.c - worker groups as offers: without a price and without a zone, and
 * not to be had while the group is suspended or its gate is closed.
 */
#include <string.h>

#include "k8s.h"

int k8s_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op = {.k = self, .call = call, .e = e};
    struct cluster c;
    int s = cluster_read(&op, &c);
    for (size_t i = 0; i < op.k->n_types && s == DAVIT_OK; i++) {
        const struct k8s_type *t = &op.k->types[i];
        const struct group *g = group_find(&c, t->group);
        put(sink, &(struct davit_offer){.size = sizeof(struct davit_offer),
                                        .name = t->name,
                                        .zone = "",
                                        .price_micros_hour = -1,
                                        .available = g && !g->suspended &&
                                                     !c.suspended &&
                                                     *g->gate == '\0'});
    }
    cluster_done(&c);
    return s;
}
