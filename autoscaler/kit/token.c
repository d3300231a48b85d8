/*
 * token.c - see token.h.
 */
#include "token.h"

#include <stdlib.h>
#include <string.h>

#define SLACK_MS 10000 /* a clock may be off by this much */
#define RENEW_EARLY_MS (5 * 60 * INT64_C(1000))
#define WAIT_MS 20
#define AGAIN_MS 30000 /* after a renewal that failed */

void kit_token_init(struct kit_token *t)
{
    *t = (struct kit_token){.value = NULL};
    pthread_mutex_init(&t->lock, NULL);
}

void kit_token_done(struct kit_token *t)
{
    kit_wipe(t->value);
    pthread_mutex_destroy(&t->lock);
}

static void keep(struct kit_token *t, char *value, int64_t lives_ms,
                 int64_t now_ms)
{
    int64_t early = lives_ms / 4 < RENEW_EARLY_MS ? lives_ms / 4
                                                  : RENEW_EARLY_MS;
    kit_wipe(t->value);
    t->value = value;
    t->expires_ms = now_ms + lives_ms;
    t->renew_ms = t->expires_ms - early;
    if (t->hold_ms > 0 && t->renew_ms > now_ms + t->hold_ms)
        t->renew_ms = now_ms + t->hold_ms;
}

/* Called with the lock held by the one that fetches, which gives it up while
 * the request is under way. */
static int fetch_locked(struct kit_token *t, const struct davit_host *host,
                        struct davit_call *call, kit_token_fetch *fetch,
                        void *arg, struct davit_error *e)
{
    char *value = NULL;
    int64_t lives_ms = 0;
    t->fetching = true;
    pthread_mutex_unlock(&t->lock);
    int64_t began = host->wall_ms();
    int s = fetch(arg, call, &value, &lives_ms, e);
    int64_t now = host->wall_ms();
    pthread_mutex_lock(&t->lock);
    t->fetching = false;
    if (s == DAVIT_OK &&
        (!value || value[0] == '\0' || strlen(value) > KIT_TOKEN_MAX)) {
        s = kit_error(e, DAVIT_AUTH, "BadToken",
                      "the token endpoint answered without a usable token");
        kit_wipe(value);
        return s;
    }
    if (s == DAVIT_OK) {
        keep(t, value, lives_ms, began);
        return s;
    }
    /* The old one may still do: nobody needs to hear of it yet. */
    if (t->value && now < t->expires_ms - SLACK_MS) {
        t->renew_ms = now + AGAIN_MS;
        return DAVIT_OK;
    }
    return s;
}

int kit_token_get(struct kit_token *t, const struct davit_host *host,
                  struct davit_call *call, kit_token_fetch *fetch, void *arg,
                  char **ret, struct davit_error *e)
{
    *ret = NULL;
    for (;;) {
        int s = DAVIT_OK;
        int64_t now = host->wall_ms();
        pthread_mutex_lock(&t->lock);
        bool fresh = t->value && now < t->renew_ms;
        bool usable = t->value && now < t->expires_ms - SLACK_MS;
        bool wait = !fresh && !usable && t->fetching;
        bool mine = !fresh && !t->fetching;
        if (mine)
            s = fetch_locked(t, host, call, fetch, arg, e);
        if (!wait && s == DAVIT_OK)
            *ret = kit_copy(t->value);
        pthread_mutex_unlock(&t->lock);
        if (!wait)
            return s;
        if (!host->sleep(call, WAIT_MS))
            return kit_error(e, DAVIT_CANCELLED, "",
                             "time was over before a token came");
    }
}

void kit_token_refused(struct kit_token *t, const char *value)
{
    pthread_mutex_lock(&t->lock);
    if (t->value && strcmp(t->value, value) == 0)
        t->expires_ms = t->renew_ms = 0;
    pthread_mutex_unlock(&t->lock);
}
