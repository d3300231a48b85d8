/*
 * secrets.c - see secrets.h.
 *
 * Names are judged by the words in them: a third party's plug-in has members
 * that nobody thought of here.
 */
#include "secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"

enum { LEARNED_MAX = 256, LEARNED_LEN_MIN = 8, LEARNED_LEN_MAX = 16384 };

struct secrets {
    char *v[LEARNED_MAX];
    unsigned n, next;
};

struct secrets *secrets_new(void)
{
    return MEM_NEW(struct secrets);
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

void secrets_learn(struct secrets *s, const char *text, size_t n)
{
    if (n < LEARNED_LEN_MIN || n > LEARNED_LEN_MAX)
        return;
    for (unsigned i = 0; i < s->n; i++)
        if (strlen(s->v[i]) == n && memcmp(s->v[i], text, n) == 0)
            return;
    unsigned at = s->n < LEARNED_MAX ? s->n++ : s->next++ % LEARNED_MAX;
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
        "pagetoken", "nexttoken",       "continuetoken", "continuationtoken",
        "skiptoken", "paginationtoken", "clienttoken",   "idempotencytoken",
        "tokentype", "assertiontype",   "url",           "uri",
        "endpoint",  "ttlseconds"};
    static const char *const words[] = {
        "token",           "secret",      "password",
        "passwd",          "passphrase",  "assertion",
        "credential",      "signature",   "authorization",
        "cookie",          "jwt",         "accesskey",
        "apikey",          "privatekey",  "clientkey",
        "accountkey",      "sharedkey",   "sessionkey",
        "signingkey",      "masterkey",   "sshkey",
        "authkey",         "functionkey", "functionskey",
        "subscriptionkey", "kubeconfig",  "kubeenv",
        "userdata",        "customdata",  "startupscript",
        "connectionstring"};
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
    while (isalnum((unsigned char)s[n]) || (s[n] != '\0' && strchr(more, s[n])))
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

const char *secrets_scrub(const struct secrets *s, struct arena *a,
                          const char *text, bool *ret_removed)
{
    struct buf b;
    size_t kept = 0, i = 0;
    bool fresh = true; /* not in the middle of a word */
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
        *ret_removed = true;
    }
    if (kept > 0) {
        buf_str(&b, text + kept);
        text = arena_strdup(a, b.s);
    }
    buf_done(&b);
    return text;
}
