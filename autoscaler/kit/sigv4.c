/*
 * sigv4.c - see sigv4.h.  The rules are those of the AWS General Reference,
 * "Create a signed AWS API request"; the official vectors are our tests.
 */
#include "sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "alloc.h"

void sigv4_date(int64_t wall_ms, char ret[SIGV4_DATE_SIZE])
{
    time_t at = (time_t)(wall_ms / 1000);
    struct tm tm;
    gmtime_r(&at, &tm);
    strftime(ret, SIGV4_DATE_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

static void hex(const unsigned char *in, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", in[i]);
}

void sigv4_sha256(const void *data, size_t n, char ret[65])
{
    unsigned char md[32];
    if (EVP_Digest(n > 0 ? data : "", n, md, NULL, EVP_sha256(), NULL) != 1)
        abort();
    hex(md, sizeof md, ret);
}

static void hmac(const void *key, size_t key_len, const char *text,
                 unsigned char ret[32])
{
    if (!HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text,
              strlen(text), ret, NULL))
        abort();
}

/* "/a//./b/../c" is "/a/c"; what ends in a slash or a dot segment keeps its
 * slash. */
static void path_normalize(const char *path, struct kit_str *out)
{
    const char *at = path;
    while (*at != '\0') {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");
        bool last = at[n] == '\0';
        bool up = n == 2 && strncmp(at, "..", 2) == 0;
        bool stays = n == 1 && *at == '.';
        if (up)
            while (out->n > 0 && out->p[--out->n] != '/')
                ;
        if (n > 0 && !up && !stays) {
            kit_str_puts(out, "/");
            kit_str_add(out, at, n);
        } else if (last) {
            kit_str_puts(out, "/");
        }
        at += n;
        if (out->p)
            out->p[out->n] = '\0';
    }
    if (out->n == 0)
        kit_str_puts(out, "/");
}

static void path_add(const struct sigv4 *s, struct kit_str *out)
{
    struct kit_str path = {0};
    if (s->keep_path)
        kit_str_puts(&path, s->path[0] != '\0' ? s->path : "/");
    else
        path_normalize(s->path, &path);
    kit_str_encode(out, path.p, path.n, "/");
    kit_str_done(&path);
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decoded and encoded again, so that "%7e", "~" and "%7E" are the same. */
static void again_encoded(const char *text, size_t n, struct kit_str *out)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < n && digit(text[i + 1]) >= 0 &&
            digit(text[i + 2]) >= 0) {
            c = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        }
        kit_str_encode(out, &c, 1, "");
    }
}

struct pair {
    char *key, *value;
};

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int d = strcmp(x->key, y->key);
    return d != 0 ? d : strcmp(x->value, y->value);
}

static char *taken(struct kit_str *s)
{
    if (!s->p)
        kit_str_puts(s, "");
    char *p = s->p;
    *s = (struct kit_str){0};
    return p;
}

static void query_add(const char *query, struct kit_str *out)
{
    struct pair *v = NULL;
    size_t n = 0;
    for (const char *at = query; *at != '\0';) {
        size_t len = strcspn(at, "&"), name = strcspn(at, "=&");
        struct kit_str key = {0}, value = {0};
        again_encoded(at, name, &key);
        if (name < len)
            again_encoded(at + name + 1, len - name - 1, &value);
        v = kit_resize(v, n + 1, sizeof *v);
        if (len > 0)
            v[n++] = (struct pair){taken(&key), taken(&value)};
        kit_str_done(&key);
        kit_str_done(&value);
        at += len + (at[len] == '&');
    }
    if (n > 0)
        qsort(v, n, sizeof *v, by_key);
    for (size_t i = 0; i < n; i++) {
        kit_str_printf(out, "%s%s=%s", i > 0 ? "&" : "", v[i].key, v[i].value);
        free(v[i].key);
        free(v[i].value);
    }
    free(v);
}

/* Trimmed, runs of white space made one space. */
static void value_add(const char *text, struct kit_str *out)
{
    bool gap = false, any = false;
    for (; *text != '\0'; text++) {
        if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') {
            gap = any;
            continue;
        }
        if (gap)
            kit_str_puts(out, " ");
        kit_str_add(out, text, 1);
        gap = false;
        any = true;
    }
}

struct header {
    char *name;
    const char *value;
    size_t at;
};

static int by_name(const void *a, const void *b)
{
    const struct header *x = a, *y = b;
    int d = strcmp(x->name, y->name);
    return d != 0 ? d : x->at < y->at ? -1 : x->at > y->at;
}

static void headers_add(const struct sigv4 *s, struct kit_str *lines,
                        struct kit_str *names)
{
    struct header *v = kit_zeroed(s->n_headers + 1, sizeof *v);
    for (size_t i = 0; i < s->n_headers; i++) {
        v[i] = (struct header){kit_copy(s->headers[i].key), s->headers[i].value,
                               i};
        for (char *c = v[i].name; *c != '\0'; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c + 32);
    }
    qsort(v, s->n_headers, sizeof *v, by_name);
    for (size_t i = 0; i < s->n_headers; i++) {
        bool more = i > 0 && strcmp(v[i].name, v[i - 1].name) == 0;
        if (more) {
            lines->p[--lines->n] = '\0'; /* the line goes on */
            kit_str_puts(lines, ",");
        } else {
            kit_str_printf(lines, "%s:", v[i].name);
            kit_str_printf(names, "%s%s", names->n > 0 ? ";" : "", v[i].name);
        }
        value_add(v[i].value, lines);
        kit_str_puts(lines, "\n");
    }
    for (size_t i = 0; i < s->n_headers; i++)
        free(v[i].name);
    free(v);
}

static void signature(const struct sigv4 *s, const char *text, char ret[65])
{
    unsigned char k[32], next[32];
    struct kit_str first = {0};
    char day[9];
    snprintf(day, sizeof day, "%.8s", s->date);
    kit_str_printf(&first, "AWS4%s", s->secret_key);
    hmac(first.p, first.n, day, k);
    const char *const steps[] = {s->region, s->service, "aws4_request", text};
    for (size_t i = 0; i < 4; i++) {
        hmac(k, sizeof k, steps[i], next);
        memcpy(k, next, sizeof k);
    }
    hex(k, sizeof k, ret);
    OPENSSL_cleanse(first.p, first.n);
    OPENSSL_cleanse(k, sizeof k);
    kit_str_done(&first);
}

void sigv4_sign(const struct sigv4 *s, struct kit_str *authorization,
                struct kit_str *canonical, struct kit_str *to_sign)
{
    struct kit_str creq = {0}, sts = {0}, names = {0};
    char sum[65];
    kit_str_printf(&creq, "%s\n", s->method);
    path_add(s, &creq);
    kit_str_puts(&creq, "\n");
    query_add(s->query, &creq);
    kit_str_puts(&creq, "\n");
    headers_add(s, &creq, &names);
    sigv4_sha256(s->body, s->body_len, sum);
    kit_str_printf(&creq, "\n%s\n%s", kit_str_text(&names), sum);
    sigv4_sha256(creq.p, creq.n, sum);
    kit_str_printf(&sts, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/%s/aws4_request\n%s",
                   s->date, s->date, s->region, s->service, sum);
    signature(s, sts.p, sum);
    kit_str_printf(authorization,
                   "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, "
                   "SignedHeaders=%s, Signature=%s",
                   s->access_key, s->date, s->region, s->service,
                   kit_str_text(&names), sum);
    if (canonical)
        kit_str_add(canonical, creq.p, creq.n);
    if (to_sign)
        kit_str_add(to_sign, sts.p, sts.n);
    kit_str_done(&creq);
    kit_str_done(&sts);
    kit_str_done(&names);
}
