/*
 * bundle.c - see bundle.h.
 */
#include "bundle.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codec/codec.h"

/* A number, or the text as it is: the daemon says what is wrong with it. */
static json_t *amount_short(const char *text)
{
    char *end;
    double d = strtod(text, &end);

    if (end == text || *end || !isfinite(d))
        return json_string(text);
    return fabs(d) < 1e15 && d == floor(d) ? json_integer((json_int_t)d)
                                           : json_real(d);
}

/* "{"GPU":1}*2" or "GPU=1,accelerator_type=T4*2": a bundle and a count. */
static json_t *bundle_short(const char *text, size_t n, struct arena *a)
{
    json_t *o = json_object();
    char *copy = arena_strndup(a, text, n), *save = NULL;

    for (char *p = strtok_r(copy, ",", &save); p;
         p = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(p, '=');
        if (!eq || eq == p || !eq[1]) {
            json_decref(o);
            return NULL;
        }
        *eq++ = '\0';
        json_object_set_new(o, p,
                            strcmp(p, "accelerator_type") == 0
                                ? json_string(eq)
                                : amount_short(eq));
    }
    return o;
}

json_t *bundle_parse(const char *text, struct arena *a)
{
    static const char *const beside[] = {"accelerator_type", "labels"};
    const char *brace = *text == '{' ? strrchr(text, '}') : NULL;
    const char *star = strrchr(brace ? brace : text, '*');
    size_t n = star ? (size_t)(star - text) : strlen(text);
    long count = 1;
    json_t *flat, *out;
    struct err err;
    char *end;

    if (star) {
        errno = 0;
        count = strtol(star + 1, &end, 10);
        if (*end || end == star + 1 || errno || count < 1) {
            fprintf(stderr,
                    "davit: %s: after * a count of at least 1 is needed\n",
                    text);
            return NULL;
        }
    }
    if (*text == '{') {
        if (codec_parse(text, n, &flat, &err) != ST_OK) {
            fprintf(stderr, "davit: %s: %s\n", text, err.text);
            return NULL;
        }
    } else if (!(flat = bundle_short(text, n, a))) {
        fprintf(stderr,
                "davit: %s: a bundle is JSON like '{\"GPU\":1}' or "
                "GPU=1,accelerator_type=T4, then *COUNT if there are several\n",
                text);
        return NULL;
    }
    if (count == 1)
        return flat;
    if (json_object_get(flat, "resources") || json_object_get(flat, "any_of")) {
        json_object_set_new(flat, "count", json_integer(count));
        return flat;
    }
    out = json_pack("{sIso}", "count", (json_int_t)count, "resources",
                    json_incref(flat));
    for (size_t i = 0; i < 2; i++) {
        json_t *v = json_object_get(flat, beside[i]);

        if (v) {
            json_object_set(out, beside[i], v);
            json_object_del(flat, beside[i]);
        }
    }
    json_decref(flat);
    return out;
}
