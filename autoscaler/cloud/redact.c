/*
 * redact.c - see redact.h.
 *
 * Better too much than too little: a recording goes into bug reports and
 * repositories.  A third party's plug-in has headers and members that nobody
 * thought of here, so our headers are allowed by name, and names are judged by
 * the words in them.
 */
#include "redact.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/alloc.h"
#include "../base/buf.h"

enum { LEARNT_MAX = 256, LEARNT_LEN_MIN = 8, LEARNT_LEN_MAX = 16384,
       LONG_WORD = 32 };

struct secrets { char *v[LEARNT_MAX]; unsigned n, next; };

struct secrets *secrets_new(void)
{
    struct secrets *s = MEM_NEW(struct secrets);
    return s;
}

static void forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void secrets_free(struct secrets *s)
{
    for (unsigned i = 0; s && i < s->n; i++)
        forget(s->v[i]);
    free(s);
}

static void learn(struct secrets *s, const char *text, size_t n)
{
    if (n < LEARNT_LEN_MIN || n > LEARNT_LEN_MAX)
        return;
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->v[i]) == n && memcmp(s->v[i], text, n) == 0)
            return;
    unsigned at = s->n < LEARNT_MAX ? s->n++ : s->next++ % LEARNT_MAX;
    forget(s->v[at]);
    s->v[at] = mem_strndup(text, n);
}

/* ---- names */

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

bool secret_name(const char *name, size_t n)
{
    /* Pages, idempotency keys and descriptions of tokens: replies and requests
     * mean nothing without them. */
    static const char *const harmless[] = {
        "pagetoken", "nexttoken", "continuetoken", "continuationtoken",
        "skiptoken", "paginationtoken", "clienttoken", "idempotencytoken",
        "tokentype", "assertiontype", "url", "uri", "endpoint", "ttlseconds"};
    static const char *const words[] = {
        "token", "secret", "password", "passwd", "passphrase", "assertion",
        "credential", "signature", "authorization", "cookie", "jwt",
        "accesskey", "apikey", "privatekey", "clientkey", "accountkey",
        "sharedkey", "sessionkey", "signingkey", "masterkey", "sshkey",
        "authkey", "functionkey", "functionskey",
        "subscriptionkey", "kubeconfig", "kubeenv",
        "userdata", "customdata", "startupscript", "connectionstring"};
    char plain[64];
    size_t k = 0;
    for (size_t i = 0; i < n && k < sizeof plain - 1; i++)
        if (isalnum((unsigned char)name[i]))
            plain[k++] = (char)tolower((unsigned char)name[i]);
    plain[k] = '\0';
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (ends(plain, harmless[i]))
            return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(plain, words[i]))
            return true;
    return strcmp(plain, "sig") == 0;
}

/* ---- looks */

static size_t run_of(const char *s, const char *more)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) ||
           (s[n] != '\0' && strchr(more, s[n])))
        n++;
    return n;
}

static size_t is_jwt(const char *s)
{
    size_t n = 0;
    if (strncmp(s, "eyJ", 3) != 0)
        return 0;
    for (int part = 0; part < 3; part++) {
        size_t len = run_of(s + n, "-_");
        if (len < 10 || (part < 2 && s[n + len] != '.'))
            return 0;
        n += len + (part < 2);
    }
    return n;
}

static size_t is_key_id(const char *s)
{
    size_t n = 4;
    if (strncmp(s, "AKIA", 4) != 0 && strncmp(s, "ASIA", 4) != 0)
        return 0;
    while (isupper((unsigned char)s[n]) || isdigit((unsigned char)s[n]))
        n++;
    return n >= 16 && !isalnum((unsigned char)s[n]) ? n : 0;
}

static size_t is_pem_key(const char *s)
{
    const char *kind, *end;
    if (strncmp(s, "-----BEGIN ", 11) != 0)
        return 0;
    kind = strstr(s, "PRIVATE KEY-----");
    if (!kind || kind > s + 40)
        return 0;
    end = strstr(kind + 16, "PRIVATE KEY-----");
    return end ? (size_t)(end - s) + 16 : strlen(s);
}

/* The length of the secret that begins here; 0: none does. */
static size_t looks_secret(const struct secrets *s, const char *at, bool fresh)
{
    size_t n = 0;
    switch (*at) {
    case 'e': n = fresh ? is_jwt(at) : 0; break;
    case 'A': n = fresh ? is_key_id(at) : 0; break;
    case '-': n = is_pem_key(at); break;
    case 'y':
        if (fresh && strncmp(at, "ya29.", 5) == 0)
            n = 5 + run_of(at + 5, "-_.");
        break;
    default: break;
    }
    for (unsigned i = 0; i < s->n; i++) {
        size_t len = strlen(s->v[i]);
        if (len > n && *at == *s->v[i] && strncmp(at, s->v[i], len) == 0)
            n = len;
    }
    return n;
}

static const char *scrub(const struct secrets *s, struct arena *a,
                         const char *text, bool *removed)
{
    struct buf b;
    size_t kept = 0, i = 0;
    bool fresh = true;  /* not in the middle of a word */
    buf_init(&b, (size_t)1 << 30);
    while (text[i] != '\0') {
        size_t n = looks_secret(s, text + i, fresh);
        fresh = !isalnum((unsigned char)text[i]);
        if (n == 0) {
            i++;
            continue;
        }
        buf_add(&b, text + kept, i - kept);
        buf_str(&b, REDACTED);
        kept = i += n;
        *removed = true;
    }
    if (kept > 0) {
        buf_str(&b, text + kept);
        text = arena_strdup(a, b.s);
    }
    buf_done(&b);
    return text;
}

/* ---- "a=1&b=2" */

static void redact_pairs(struct secrets *s, struct buf *b, const char *text,
                         size_t n, bool *removed)
{
    /* The tracking URLs of Azure's operations are signed, in four letters. */
    bool azure = memmem(text, n, "&t=", 3) &&
                 memmem(text, n, "&c=", 3) &&
                 memmem(text, n, "&s=", 3) &&
                 memmem(text, n, "&h=", 3);
    for (size_t i = 0, len; i <= n; i += len + 1) {
        const char *pair = text + i;
        const char *amp = memchr(pair, '&', n - i);
        len = amp ? (size_t)(amp - pair) : n - i;
        const char *eq = memchr(pair, '=', len);
        size_t name = eq ? (size_t)(eq - pair) : len;
        if (i > 0)
            buf_str(b, "&");
        if (eq && name + 1 < len &&
            (secret_name(pair, name) ||
             (azure && name == 1 && strchr("csh", *pair)))) {
            learn(s, eq + 1, len - name - 1);
            buf_add(b, pair, name + 1);
            buf_str(b, REDACTED);
            *removed = true;
        } else {
            buf_add(b, pair, len);
        }
    }
}

static const char *settle(const struct secrets *s, struct arena *a,
                          struct buf *b, bool *removed)
{
    const char *text = arena_strdup(a, b->s);
    buf_done(b);
    return scrub(s, a, text, removed);
}

static const char *url_settle(struct secrets *s, struct arena *a,
                              const char *url, bool *removed)
{
    const char *host = strstr(url, "://"), *query = strchr(url, '?');
    struct buf b;
    buf_init(&b, (size_t)1 << 30);
    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *at = memchr(host, '@', authority);
    size_t head = query ? (size_t)(query - url) : strlen(url);
    if (at && (!query || at < query)) {
        learn(s, host, (size_t)(at - host));
        buf_add(&b, url, (size_t)(host - url));
        buf_str(&b, REDACTED);
        buf_add(&b, at, head - (size_t)(at - url));
        *removed = true;
    } else {
        buf_add(&b, url, head);
    }
    if (query) {
        buf_str(&b, "?");
        redact_pairs(s, &b, query + 1, strlen(query + 1), removed);
    }
    return settle(s, a, &b, removed);
}

const char *redact_url(struct secrets *s, struct arena *a, const char *url)
{
    bool removed = false;
    return url_settle(s, a, url, &removed);
}

/* ---- headers */

const char *redact_header(struct secrets *s, struct arena *a, const char *name,
                          const char *value, bool ours)
{
    static const char *const plain[] = {
        "accept", "content-type", "content-length", "host", "if-match",
        "if-none-match", "metadata", "metadata-flavor", "prefer", "user-agent",
        "x-amz-date", "x-amz-target", "x-amz-content-sha256",
        "x-aws-ec2-metadata-token-ttl-seconds", "x-ms-client-request-id",
        "x-ms-return-client-request-id", "x-goog-api-client"};
    bool secret = secret_name(name, strlen(name)), known = !ours, removed;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !known; i++)
        known = strcasecmp(plain[i], name) == 0;
    if (secret && strncmp(value, "AWS4-", 5) != 0) {  /* made anew each time */
        const char *word = strrchr(value, ' ');  /* "Bearer ..." */
        learn(s, value, strlen(value));
        if (word)
            learn(s, word + 1, strlen(word + 1));
    }
    if (secret || !known)
        return value[0] != '\0' ? REDACTED : value;
    /* An operation is followed by its URL. */
    if (strstr(value, "://"))
        return redact_url(s, a, value);
    return scrub(s, a, value, &removed);
}

/* ---- JSON */

static bool remove_text(struct secrets *s, json_t *v)
{
    const char *text = json_string_value(v);
    if (!text || text[0] == '\0' || strcmp(text, REDACTED) == 0)
        return false;
    learn(s, text, strlen(text));
    json_string_set(v, REDACTED);
    return true;
}

/* {"key": "kube-env", "value": ...}, as tags and metadata are written. */
static bool pair_is_secret(const json_t *o)
{
    static const char *const names[] = {"key", "Key", "name", "Name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *k = json_string_value(json_object_get(o, names[i]));
        if (k && secret_name(k, strlen(k)))
            return true;
    }
    return false;
}

static bool redact_json(struct secrets *s, json_t *j, bool secret)
{
    bool removed = false;
    const char *key;
    json_t *v;
    size_t i;
    if (json_is_string(j))
        return secret && remove_text(s, j);
    json_array_foreach(j, i, v)
        removed |= redact_json(s, v, secret);
    if (!json_is_object(j))
        return removed;
    bool pair = pair_is_secret(j);
    json_object_foreach(j, key, v)
        removed |= redact_json(s, v, secret_name(key, strlen(key)) ||
                                      (pair && strcasecmp(key, "value") == 0));
    return removed;
}

static const char *json_body(struct secrets *s, struct arena *a,
                             const char *body, bool *removed)
{
    /* Nested deeper than jansson goes, or no JSON: as plain text. */
    json_t *j = json_loads(body, 0, NULL);
    if (j && redact_json(s, j, false)) {
        char *text = mem_must(json_dumps(j, JSON_COMPACT));
        body = arena_strdup(a, text);
        free(text);
        *removed = true;
    }
    json_decref(j);
    return scrub(s, a, body, removed);
}

/* ---- XML: <Name>text</Name> */

static const char *xml_body(struct secrets *s, struct arena *a,
                            const char *body, bool *removed)
{
    struct buf b;
    const char *at = body;
    buf_init(&b, (size_t)1 << 30);
    for (const char *open; (open = strchr(at, '<'));) {
        size_t name = strcspn(open + 1, " \t\r\n/>");
        const char *text = strchr(open, '>');
        if (!text)
            break;
        size_t len = strcspn(++text, "<");
        buf_add(&b, at, (size_t)(text - at));
        at = text;
        if (len == 0 || text[len] == '\0' || text[-2] == '/' ||
            open[1] == '/' || !secret_name(open + 1, name) ||
            strspn(text, " \t\r\n") >= len)
            continue;
        learn(s, text, len);
        buf_str(&b, REDACTED);
        at = text + len;
        *removed = true;
    }
    buf_str(&b, at);
    return settle(s, a, &b, removed);
}

/* ---- bodies */

static bool is_form(const char *body)
{
    size_t name = run_of(body, "-_.~%+");
    return name > 0 && body[name] == '=' &&
           body[strcspn(body, " \t\r\n{<\"")] == '\0';
}

/* Metadata servers hand a token out as plain text: by the name of what was
 * asked for, or one long word.  Under a URL that ends in '/' they list names. */
static bool hands_out_secret(const char *url, const char *text)
{
    size_t end = strcspn(url, "?#"), from = end;
    while (from > 0 && url[from - 1] != '/')
        from--;
    size_t word = strcspn(text, " \t\r\n"), n = end - from;
    return text[word + strspn(text + word, "\r\n")] == '\0' && n > 0 &&
           (word >= LONG_WORD || memmem(url + from, n, "token", 5));
}

const char *redact_body(struct secrets *s, struct arena *a, const char *url,
                        const char *body, bool ours, bool *ret_removed)
{
    const char *first = body + strspn(body, " \t\r\n");
    struct buf b;
    *ret_removed = false;
    if (*first == '{' || *first == '[')
        return json_body(s, a, body, ret_removed);
    if (*first == '<')
        return xml_body(s, a, body, ret_removed);
    if (!ours && *first != '\0' && hands_out_secret(url, first)) {
        learn(s, first, strcspn(first, "\r\n"));
        *ret_removed = true;
        return REDACTED;
    }
    if (is_form(body)) {
        buf_init(&b, (size_t)1 << 30);
        redact_pairs(s, &b, body, strlen(body), ret_removed);
        return settle(s, a, &b, ret_removed);
    }
    return scrub(s, a, body, ret_removed);
}
