/*
 * backoff.h - offers, node types and providers that are left alone for a while
 * after a failure.
 *
 * A launch that was refused always leads to one, whatever its code.  An offer
 * backs off after STOCKOUT, NOT_FOUND, QUOTA or RETRY, and after machines that
 * came and were of no use; its node type after INVALID; the provider after
 * THROTTLED, BROKEN and AUTH, and after any failure that has no type.  Each
 * failure doubles the delay up to a limit (backoff.c has the table), and after
 * it the next launch is a probe; another configuration ends them, but for those of
 * machines that were of no use.  Failures that come in while one is in force are the same event and
 * double nothing.  Owned by the control thread.
 */
#ifndef CLOUD_BACKOFF_H
#define CLOUD_BACKOFF_H

#include "../base/err.h"
#include "../model/offer.h"

struct backoffs;
struct backoffs *backoffs_new(void);
void backoffs_free(struct backoffs *b);

/* Valid until something else is noted. */
struct backoff {
    struct offer_key of; /* type "" : the whole provider; zone "" beside
                          * a type: of all its offers */
    enum status why;
    char text[208];
    int64_t until_ms;  /* wall */
    int64_t delay_ms;  /* the last one */
    int64_t failed_ms; /* wall, the last failure; 0: none */
    uint32_t failures; /* in a row */
    uint32_t lives;    /* machines in a row that were of no use, */
    int64_t life_ms;   /* the last of them; wall */
    uint32_t room;     /* machines that may be launched all the same */
};

/* Records a failed or good answer to a launch of `asked` machines of which `got`
 * came; returns the back-off it led to, or NULL.  A good answer ends a
 * provider's back-off once it has been quiet for as long as that lasted.  After
 * a QUOTA that gave none of several, room is half of what was asked and until_ms is not
 * in the future: smaller launches may go at once, and that room holds for ten
 * minutes, also after a success.  Otherwise room is 0 after QUOTA, UNLIMITED
 * after all else.  What is under way counts against room: that is the caller's
 * to subtract. */
const struct backoff *backoffs_note_launch(struct backoffs *b,
                                           struct offer_key of, uint32_t asked,
                                           uint32_t got, const struct err *e,
                                           int64_t now_ms);
/* A machine of the offer came, was paid for and never was of use, or died at once:
 * 10 s, four times as long for each one in a row, to 4 h.  One that joins with all
 * that was promised and lives ends the row. */
const struct backoff *backoffs_note_life(struct backoffs *b,
                                         struct offer_key of,
                                         const struct err *e, int64_t now_ms);
/* A machine of the offer, launched then, has joined: its failures before that
 * launch are forgotten, but for machines that were of no use. */
void backoffs_joined(struct backoffs *b, struct offer_key of,
                     int64_t launched_ms, int64_t now_ms);
/* It has lived for a while: those are, too. */
void backoffs_lived(struct backoffs *b, struct offer_key of,
                    int64_t launched_ms);
/* When the offer itself failed last, no machine having joined since; 0 when
 * that is an hour ago or never was.  A quota that only lowered the room is no
 * failure. */
int64_t backoffs_failed_ms(const struct backoffs *b, struct offer_key of,
                           int64_t now_ms);
/* The one in force for this offer that lasts longest (its own, its type's or
 * its provider's), or NULL. */
const struct backoff *backoffs_find(const struct backoffs *b,
                                    struct offer_key of, int64_t now_ms);
/* When the answers of the above change though nothing happens, wall; INT64_MAX:
 * never. */
int64_t backoffs_change_ms(const struct backoffs *b, int64_t now_ms);
/* Offers of which the last machine was of no use, whether they may be tried now or
 * not. */
void backoffs_rows(const struct backoffs *b,
                   void (*each)(void *arg, const struct backoff *x), void *arg);
/* Every one in force, oldest first. */
void backoffs_each(const struct backoffs *b, int64_t now_ms,
                   void (*each)(void *arg, const struct backoff *x), void *arg);
void backoffs_forget_all(struct backoffs *b);
/* Of this provider; NULL: of all.  lives: machines that were of no use too; auth: only
 * what credentials that are read anew may mend. */
struct backoffs_forgotten {
    const char *provider;
    bool lives, auth;
};
void backoffs_forget(struct backoffs *b, const struct backoffs_forgotten *f);

#endif
