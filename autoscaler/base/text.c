/*
 * text.c - see text.h.
 */
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

size_t text_char(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned low = 0x80, high = 0xbf; /* of the second byte */
    size_t len;

    if (!n)
        return 0;
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] == 0xc2 || s[0] == 0xe0)
        low = 0xa0; /* control characters; overlong */
    else if (s[0] == 0xed)
        high = 0x9f; /* surrogates */
    else if (s[0] == 0xf0)
        low = 0x90; /* overlong */
    else if (s[0] == 0xf4)
        high = 0x8f; /* past U+10FFFF */
    if (n < len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return len;
}

/* The code point of a whole character of two or three bytes; longer ones are
 * never special. */
static unsigned code_of(const unsigned char *s)
{
    return s[0] < 0x80   ? s[0]
           : s[0] < 0xe0 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
           : s[0] < 0xf0
               ? (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu)
               : 0x10000;
}

static bool turns_text(unsigned c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t text_plain(const char *s, size_t n)
{
    size_t len = text_char(s, n);

    return len && !turns_text(code_of((const unsigned char *)s)) ? len : 0;
}

size_t text_escape(const char *s, size_t n, char ret[8])
{
    const unsigned char *u = (const unsigned char *)s;
    size_t len = text_char(s, n);

    if (!len && *u < 0x80)
        len = 1;
    else if (!len && *u == 0xc2 && n > 1 && u[1] >= 0x80 && u[1] < 0xa0)
        len = 2; /* C1 */
    if (len)
        snprintf(ret, 8, "\\u%04x", code_of(u) & 0xffff);
    else
        snprintf(ret, 8, "\xef\xbf\xbd");
    return len ? len : 1;
}

bool text_clean(char *s, size_t n)
{
    bool changed = false;

    for (size_t i = 0; i < n;) {
        size_t len = text_char(s + i, n - i);

        if (!len) {
            s[i] = '?';
            changed = true;
            len = 1;
        }
        i += len;
    }
    return changed;
}

char *text_encode(struct arena *a, const char *s)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = arena_alloc(a, strlen(s) * 3 + 1), *to = out;

    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if ((c < 0x80 && isalnum(c)) || strchr("-_.~", c)) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
        }
    }
    return out;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *text_decode(struct arena *a, const char *s, size_t n, size_t *ret_n)
{
    char *out = arena_alloc(a, n + 1), *to = out;

    for (size_t i = 0; i < n; i++) {
        int high = s[i] == '%' && i + 2 < n ? hex(s[i + 1]) : -1;
        int low = high >= 0 ? hex(s[i + 2]) : -1;

        if (low >= 0) {
            *to++ = (char)(high * 16 + low);
            i += 2;
        } else {
            *to++ = s[i];
        }
    }
    if (ret_n)
        *ret_n = (size_t)(to - out);
    return out;
}
