/*
 * words.c - the words in a machine's row, between versions.
 *
 * A word that we do not know, of a later version, stands for one of ours as
 * long as we are the daemon, and is written back as it was.  A word that 0.1
 * does not know would end it at its start: it finds one of its own, and the
 * column `words` says what is meant, as "why:none=new_reason".  When 0.1 has
 * changed the column meanwhile, the pair no longer fits and means nothing.
 */
#include "db.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"

enum { WORD_MAX = 64, ODDS_MAX = 100 };

struct kept_word {
    char id[48], column[16], as[WORD_MAX + 1], word[WORD_MAX + 1];
};

bool word_good(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

    return n > 0 && n <= WORD_MAX && s[n] == '\0';
}

/* ---- words that stand for others while we are here */

static uint64_t hash_of(const char *id, const char *column)
{
    return hash_text(hash_text(HASH_SEED, id), column);
}

static struct kept_word *find(const struct journal *j, const char *id,
                              const char *column)
{
    struct kept_word *k;
    uint64_t h = hash_of(id, column);

    for (uint32_t at = 0; (k = hash_next(&j->kept, h, &at));)
        if (strcmp(k->id, id) == 0 && strcmp(k->column, column) == 0)
            return k;
    return NULL;
}

void word_keep(struct journal *j, const char *id, const char *column,
               const char *word, const char *as)
{
    struct kept_word *k = find(j, id, column);

    if (!k) {
        k = MEM_NEW(struct kept_word);
        snprintf(k->id, sizeof k->id, "%s", id);
        snprintf(k->column, sizeof k->column, "%s", column);
        hash_add(&j->kept, hash_of(id, column), k);
    }
    snprintf(k->word, sizeof k->word, "%s", word);
    snprintf(k->as, sizeof k->as, "%s", as);
}

const char *word_meant(struct journal *j, const char *id, const char *column,
                       const char *now)
{
    struct kept_word *k = j->kept.n ? find(j, id, column) : NULL;

    if (!k)
        return now;
    if (strcmp(k->as, now) == 0)
        return k->word;
    hash_remove(&j->kept, hash_of(id, column), k); /* its time is over */
    free(k);
    return now;
}

/* ---- the column `words` */

void words_add(char *words, size_t size, const char *column,
               const char *written, const char *meant)
{
    size_t n = strlen(words);

    snprintf(words + n, size - n, "%s%s:%s=%s", n ? " " : "", column, written,
             meant);
}

bool words_find(const char *words, const char *column, const char *written,
                char *ret, size_t size)
{
    char head[2 * WORD_MAX];
    int n = snprintf(head, sizeof head, "%s:%s=", column, written);

    if (n < 0 || (size_t)n >= sizeof head)
        return false;
    for (const char *p = words; p && *p; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (strncmp(p, head, (size_t)n) == 0) {
            snprintf(ret, size, "%.*s", (int)strcspn(p + n, " "), p + n);
            return true;
        }
    }
    return false;
}

/* ---- rows that are left as they are */

void row_leave(struct journal *j, int64_t seq, const char *id)
{
    VEC_PUSH(NULL, &j->left, ((struct left_row){seq, mem_strdup(id)}));
}

void row_take(struct journal *j, const char *id)
{
    for (uint32_t i = 0; i < j->left.n;)
        if (strcmp(j->left.v[i].id, id) == 0) {
            free(j->left.v[i].id);
            j->left.v[i] = j->left.v[--j->left.n];
        } else {
            i++;
        }
}

char *rows_left(const struct journal *j)
{
    struct buf b;

    buf_init(&b, 32u << 20);
    for (uint32_t i = 0; i < j->left.n; i++)
        buf_printf(&b, "%c%lld", i ? ',' : '[', (long long)j->left.v[i].seq);
    buf_str(&b, j->left.n ? "]" : "[]");
    return buf_take(&b);
}

/* ---- what could not be read as it stands */

void odd_note(struct journal *j, const char *kind, const char *id,
              const char *fmt, ...)
{
    struct journal_odd *o;
    va_list ap;

    if (j->n_odds++ >= ODDS_MAX)
        return;
    if (!j->odds)
        j->odds = MEM_ARRAY(struct journal_odd, ODDS_MAX);
    o = &j->odds[j->n_odds - 1];
    snprintf(o->kind, sizeof o->kind, "%s", kind);
    snprintf(o->id, sizeof o->id, "%s", id);
    va_start(ap, fmt);
    vsnprintf(o->text, sizeof o->text, fmt, ap);
    va_end(ap);
}

uint32_t journal_odds(const struct journal *j, const struct journal_odd **ret,
                      uint32_t *n)
{
    *ret = j->odds;
    *n = j->n_odds < ODDS_MAX ? j->n_odds : ODDS_MAX;
    return j->n_odds;
}

void words_done(struct journal *j)
{
    struct kept_word *k;

    for (uint32_t at = 0; (k = hash_each(&j->kept, &at));)
        free(k);
    hash_done(&j->kept);
    for (uint32_t i = 0; i < j->left.n; i++)
        free(j->left.v[i].id);
    free(j->left.v);
    free(j->odds);
}
