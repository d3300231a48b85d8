/*
 * split.c - see split.h.
 */
#include "split.h"

#include <string.h>

enum { MAX_DEPTH = 200 };

void kube_split_init(struct kube_split *s, enum kube_split_kind kind,
                     bool (*object)(void *ctx, const char *text, size_t n),
                     void *ctx)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->object = object;
    s->ctx = ctx;
    buf_init(&s->text, KUBE_MAX_OBJECT);
    buf_init(&s->rest, KUBE_MAX_REST);
}

void kube_split_done(struct kube_split *s)
{
    buf_done(&s->text);
    buf_done(&s->rest);
}

bool kube_split_whole(const struct kube_split *s)
{
    return s->kind == SPLIT_LIST ? s->done : s->depth == 0;
}

/* Depth at which objects begin. */
static bool object_place(const struct kube_split *s)
{
    return s->kind == SPLIT_WATCH ? s->depth == 0
                                  : s->in_items && s->depth == 2;
}

/* A bracket opened, at the depth before it. */
static enum status opened(struct kube_split *s, char c, struct err *err)
{
    if (s->depth == MAX_DEPTH)
        return err_set(err, ST_BROKEN, "brackets more than %d deep", MAX_DEPTH);
    if (!s->in_object && c == '{' && object_place(s)) {
        s->in_object = true;
        buf_clear(&s->text);
    } else if (s->kind == SPLIT_LIST && s->depth == 1 && c == '[') {
        s->in_items = s->key_n == 5 && memcmp(s->key, "items", 5) == 0;
    }
    s->depth++;
    s->key_next = c == '{' && s->depth == 1;
    return ST_OK;
}

/* The end of a bracket; the depth is the one behind it. */
static enum status closed(struct kube_split *s)
{
    if (s->in_object && object_place(s)) {
        s->in_object = false;
        if (!s->object(s->ctx, s->text.s, s->text.n))
            return ST_CANCELLED;
        if (s->text.cap > 256 << 10) {
            buf_done(&s->text);
            buf_init(&s->text, KUBE_MAX_OBJECT);
        }
    } else if (s->in_items && s->depth == 1) {
        s->in_items = false;
    }
    s->done = s->done || s->depth == 0;
    return ST_OK;
}

static void string_char(struct kube_split *s, char c)
{
    if (s->escaped) {
        s->escaped = false;
    } else if (c == '\\') {
        s->escaped = true;
    } else if (c == '"') {
        s->in_string = s->in_key = false;
        return;
    }
    if (s->in_key && s->key_n < sizeof s->key)
        s->key[s->key_n++] = c;
}

static void string_begin(struct kube_split *s)
{
    s->in_string = true;
    if (s->depth != 1 || !s->key_next)
        return;
    s->in_key = true;
    s->key_next = false;
    s->key_n = 0;
}

/* Keeps what lies from `from` to `to` where it belongs. */
static enum status keep(struct kube_split *s, bool object, const char *from,
                        const char *to, struct err *err)
{
    struct buf *b = object ? &s->text : &s->rest;

    if (s->kind == SPLIT_WATCH && !object)
        return ST_OK;
    if (from < to && !buf_add(b, from, (size_t)(to - from)))
        return err_set(err, ST_BROKEN, "more than %zu bytes in %s", b->max,
                       object ? "one object" : "a list without its items");
    return ST_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

enum status kube_split_feed(struct kube_split *s, const char *p, size_t n,
                            struct err *err)
{
    const char *from = p, *end = p + n;
    enum status st = ST_OK;

    for (; p < end && st == ST_OK; p++) {
        const char c = *p;
        const bool was = s->in_object;

        if (s->in_string) {
            string_char(s, c);
            continue;
        }
        switch (c) {
        case '"': string_begin(s); break;
        case '{':
        case '[':
            if (s->depth == 0 && (c == '[' || s->done) &&
                !(s->kind == SPLIT_WATCH && c == '{'))
                return err_set(err, ST_BROKEN, "not an object");
            st = opened(s, c, err);
            if (s->in_object && !was) {
                if (st == ST_OK)
                    st = keep(s, false, from, p, err);
                from = p;
            }
            break;
        case '}':
        case ']':
            if (!s->depth)
                return err_set(err, ST_BROKEN, "brackets do not match");
            s->depth--;
            if (was && object_place(s)) {
                st = keep(s, true, from, p + 1, err);
                from = p + 1;
            }
            if (st == ST_OK)
                st = closed(s);
            break;
        case ',':
            s->key_next = s->depth == 1;
            if (s->in_items && s->depth == 2) { /* between two items */
                if (keep(s, false, from, p, err) != ST_OK)
                    return ST_BROKEN;
                from = p + 1;
            }
            break;
        default:
            if (s->depth == 0 && !blank(c))
                return err_set(err, ST_BROKEN, "text outside an object");
        }
    }
    if (st == ST_OK)
        st = keep(s, s->in_object, from, p, err);
    return st;
}
