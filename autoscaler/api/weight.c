/*
 * weight.c - what a JSON text will cost as a tree, before it becomes one.
 *
 * "[0,0,...]" of 4 MiB is 100 MiB of values.  One look at the text counts what
 * jansson allocates for, rounded up: the values, the pairs of objects with
 * their share of the hash table, the texts.  What is read out of the tree is
 * about as large again, and counted here too.
 */
#include <stdbool.h>

#include "inside.h"

/* Bytes for each: an empty object has eight buckets, an array eight places. */
enum { OBJECT = 320, ARRAY = 160, PAIR = 160, VALUE = 64, TEXT = 96 };

size_t json_weight(const char *text, size_t n)
{
    bool quoted = false;
    size_t sum = n;

    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                quoted = false;
            continue;
        }
        switch (text[i]) {
        case '"':
            quoted = true;
            sum += TEXT;
            break;
        case '{': sum += OBJECT; break;
        case '[': sum += ARRAY; break;
        case ':': sum += PAIR; break;
        case ',': sum += VALUE; break;
        default: break;
        }
    }
    return sum + n;
}
