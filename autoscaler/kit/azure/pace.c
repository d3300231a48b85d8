/*
 * pace.c - requests that wait for their turn: at most `burst` at once, and one
 * more every `every_ms`, as Azure's own limits count (learn.microsoft.com/azure/
 * azure-resource-manager/management/request-limits-and-throttling).
 */
#include "azure.h"

#define NAP_MAX_MS 1000

int64_t azure_bucket_take(struct azure_bucket *b, int64_t now_ms)
{
    if (b->every_ms <= 0)
        return 0;
    if (b->at_ms == 0) {
        b->left = b->burst;
    } else if (now_ms > b->at_ms) {
        b->left += (double)(now_ms - b->at_ms) / (double)b->every_ms;
        if (b->left > b->burst)
            b->left = b->burst;
    }
    b->at_ms = now_ms;
    if (b->left >= 1) {
        b->left -= 1;
        return 0;
    }
    return (int64_t)((1 - b->left) * (double)b->every_ms) + 1;
}

int azure_turn(struct azure *a, struct azure_bucket *b, struct davit_call *call,
               struct davit_error *e)
{
    for (;;) {
        pthread_mutex_lock(&a->lock);
        int64_t wait = azure_bucket_take(b, a->host->wall_ms());
        pthread_mutex_unlock(&a->lock);
        if (wait == 0)
            return DAVIT_OK;
        if (wait > NAP_MAX_MS)
            wait = NAP_MAX_MS;
        if (!a->host->sleep(call, (uint32_t)wait))
            return kit_error(e, DAVIT_RETRY, "Paced",
                             "out of time: reads keep to Azure's limit of one "
                             "in %lld ms",
                             (long long)b->every_ms);
    }
}
