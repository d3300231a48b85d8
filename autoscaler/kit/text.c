/*
 * text.c - see text.h.
 */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "str.h"

int kit_file_read(const char *path, const char *what, char **ret,
                  struct davit_error *e)
{
    FILE *f = fopen(path, "re");
    const char *why = f ? NULL : strerror(errno);
    char *text = kit_zeroed(1, KIT_FILE_MAX + 2);
    size_t n = f ? fread(text, 1, KIT_FILE_MAX + 1, f) : 0;
    if (f && ferror(f))
        why = "it cannot be read";
    else if (f && n > KIT_FILE_MAX)
        why = "it has more than a megabyte";
    else if (f && strlen(text) != n)
        why = "it is no text";
    if (f)
        fclose(f);
    n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        text[--n] = '\0';
    if (!why && n == 0)
        why = "it is empty";
    *ret = why ? NULL : kit_copy(text);
    kit_wipe(text);
    return !why ? DAVIT_OK
                : kit_error(e, DAVIT_AUTH, "File", "cannot read %s %.120s: %s",
                            what, path, why);
}

bool kit_write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, text, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        text += k;
        n -= (size_t)k;
    }
    return true;
}

/* ---- percent encoding */

char *kit_encode(const char *text)
{
    struct kit_str s = {0};
    kit_str_encode(&s, text, strlen(text), "");
    return s.p;
}

bool kit_url_append(char *url, size_t size, const char *text)
{
    char *coded = kit_encode(text);
    size_t n = strlen(url), more = strlen(coded);
    if (n + more < size)
        memcpy(url + n, coded, more + 1);
    free(coded);
    return n + more < size;
}

void kit_decode(char *text)
{
    char *to = text;
    for (; *text; text++) {
        unsigned v;
        char two[3] = {text[0] == '%' ? text[1] : '\0', 0, 0};
        two[1] = two[0] ? text[2] : '\0';
        if (strspn(two, "0123456789abcdefABCDEF") == 2 &&
            sscanf(two, "%2x", &v) == 1) {
            *to++ = (char)v;
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

char *kit_form(const struct davit_kv *kv, size_t n)
{
    struct kit_str s = {0};
    for (size_t i = 0; i < n; i++)
        kit_str_param(&s, kv[i].key, kv[i].value);
    return s.p ? s.p : kit_copy("");
}

/* ---- times */

int64_t kit_time_ms(const char *text)
{
    struct tm tm = {0};
    const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t ms = 0;
    if (!p)
        return -1;
    if (*p == '.') {
        int64_t unit = 100;
        for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
            ms += unit * (*p - '0');
    }
    ms += (int64_t)timegm(&tm) * 1000;
    if (*p == 'Z' || *p == 'z')
        return p[1] == '\0' ? ms : -1;
    int h, m, used = 0;
    if ((*p != '+' && *p != '-') ||
        sscanf(p + 1, "%2d:%2d%n", &h, &m, &used) != 2 || p[1 + used] != '\0')
        return -1;
    int64_t away = ((int64_t)h * 3600 + m * 60) * 1000;
    return *p == '+' ? ms - away : ms + away;
}

void kit_time_text(int64_t ms, char ret[KIT_TIME_SIZE])
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    ret[0] = '\0';
    if (gmtime_r(&s, &tm))
        strftime(ret, KIT_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

int64_t kit_date_ms(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return end && *end == '\0' ? (int64_t)timegm(&tm) * 1000 : -1;
}
