/*
 * text.c - see text.h.
 */
#include "text.h"

/* The length of the valid sequence at s, at most n bytes; 0: there is none. */
static size_t sequence(const unsigned char *s, size_t n)
{
    size_t len;
    unsigned low = 0x80, high = 0xbf;  /* of the second byte */
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        len = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        len = 3;
        if (s[0] == 0xe0)
            low = 0xa0;   /* overlong */
        else if (s[0] == 0xed)
            high = 0x9f;  /* surrogates */
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        len = 4;
        if (s[0] == 0xf0)
            low = 0x90;
        else if (s[0] == 0xf4)
            high = 0x8f;  /* past U+10FFFF */
    } else {
        return 0;
    }
    if (n < len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return len;
}

bool text_utf8(char *s, size_t n)
{
    bool changed = false;
    for (size_t i = 0; i < n;) {
        size_t len = sequence((unsigned char *)s + i, n - i);
        if (!len) {
            s[i] = '?';
            changed = true;
            len = 1;
        }
        i += len;
    }
    return changed;
}
