/*
 * str.c - see str.h.
 */
#include "str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static void room(struct kit_str *s, size_t more)
{
    size_t need = s->n + more + 1;
    if (need <= s->cap)
        return;
    size_t cap = s->cap < 128 ? 256 : s->cap * 2;
    if (cap < need)
        cap = need;
    s->p = kit_resize(s->p, cap, 1);
    s->cap = cap;
}

void kit_str_add(struct kit_str *s, const char *text, size_t n)
{
    room(s, n);
    if (n > 0)
        memcpy(s->p + s->n, text, n);
    s->n += n;
    s->p[s->n] = '\0';
}

void kit_str_puts(struct kit_str *s, const char *text)
{
    kit_str_add(s, text, strlen(text));
}

void kit_str_printf(struct kit_str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = kit_vprint(fmt, ap);
    va_end(ap);
    kit_str_puts(s, text);
    kit_wipe(text);
}

void kit_str_encode(struct kit_str *s, const char *text, size_t n,
                    const char *also)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-_.~";
    room(s, n * 3);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c != '\0' && (strchr(plain, c) || strchr(also, c)))
            kit_str_add(s, &text[i], 1);
        else
            kit_str_printf(s, "%%%02X", c);
    }
    s->p[s->n] = '\0';
}

void kit_str_param(struct kit_str *s, const char *name, const char *value)
{
    if (s->n > 0)
        kit_str_puts(s, "&");
    kit_str_encode(s, name, strlen(name), "");
    kit_str_puts(s, "=");
    kit_str_encode(s, value, strlen(value), "");
}

const char *kit_str_text(const struct kit_str *s)
{
    return s->p ? s->p : "";
}

void kit_str_clear(struct kit_str *s)
{
    s->n = 0;
    if (s->p)
        s->p[0] = '\0';
}

void kit_str_done(struct kit_str *s)
{
    free(s->p);
    *s = (struct kit_str){0};
}
