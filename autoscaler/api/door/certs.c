/*
 * certs.c - see certs.h.
 */
#include "certs.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/log.h"
#include "secret.h"

#define PEM_MAX ((size_t)1 << 20)
#define CHAIN_MAX 16
#define PATHS 4
/* A handshake borrows what it uses, and is over long before. */
#define KEEP_MS 60000

struct generation {
    struct generation *older;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned n;
    gnutls_privkey_t key;
    gnutls_x509_trust_list_t trust; /* NULL: no client_ca */
    int64_t crl_ends;               /* wall s, 0: no list says */
    int64_t replaced_ms;            /* mono */
};

struct certs {
    char *paths[PATHS]; /* cert, key, client_ca, client_crl */
    struct stamp stamps[PATHS];
    char *ca_text; /* as it was first, for the request to clients */
    struct MHD_OptionItem options[5];
    pthread_mutex_t lock; /* of the rest */
    struct generation *now;
    char problem[432];
    bool told_over; /* only certs_refresh()'s thread */
};

static struct certs *_Atomic serving;

/* ---- one generation */

static void generation_free(struct generation *g)
{
    if (!g)
        return;
    for (unsigned i = 0; i < g->n; i++)
        gnutls_pcert_deinit(&g->chain[i]);
    if (g->key)
        gnutls_privkey_deinit(g->key);
    if (g->trust)
        gnutls_x509_trust_list_deinit(g->trust, 1);
    free(g);
}

static enum status bad(struct err *err, const char *key, const char *path,
                       const char *what, int rc)
{
    return err_set(err, ST_INVALID, "%s: %s %s: %s", key, path, what,
                   gnutls_strerror(rc));
}

static enum status chain_read(struct generation *g, const char *path,
                              struct err *err)
{
    unsigned n = CHAIN_MAX;
    gnutls_datum_t data;
    enum status s;
    struct buf text;
    int rc;

    s = secret_read(path, "api.tls.cert", false, PEM_MAX, &text, err);
    if (s != ST_OK)
        return s;
    if (!strstr(text.s, "-----BEGIN ")) {
        buf_done(&text);
        return err_set(err, ST_INVALID, "api.tls.cert: %s is no PEM file",
                       path);
    }
    data = (gnutls_datum_t){(void *)text.s, (unsigned)text.n};
    rc = gnutls_pcert_list_import_x509_raw(g->chain, &n, &data,
                                           GNUTLS_X509_FMT_PEM, 0);
    buf_done(&text);
    if (rc < 0)
        return bad(err, "api.tls.cert", path, "has no usable certificate", rc);
    g->n = n;
    return ST_OK;
}

static enum status key_read(struct generation *g, const char *path,
                            struct err *err)
{
    gnutls_datum_t data;
    enum status s;
    struct buf text;
    int rc;

    s = secret_read(path, "api.tls.key", true, PEM_MAX, &text, err);
    if (s != ST_OK)
        return s;
    data = (gnutls_datum_t){(unsigned char *)text.s, (unsigned)text.n};
    rc = gnutls_privkey_init(&g->key);
    if (rc == 0)
        rc = gnutls_privkey_import_x509_raw(g->key, &data, GNUTLS_X509_FMT_PEM,
                                            NULL, 0);
    secret_done(&text);
    return rc < 0 ? bad(err, "api.tls.key", path, "has no usable key", rc)
                  : ST_OK;
}

/* Do the two belong together?  Something signed by one must fit the other. */
static enum status pair_check(const struct generation *g, const char *path,
                              struct err *err)
{
    const gnutls_datum_t data = {(unsigned char *)(uintptr_t) "davit", 5};
    int algorithm = gnutls_pubkey_get_pk_algorithm(g->chain[0].pubkey, NULL);
    gnutls_digest_algorithm_t digest = GNUTLS_DIG_SHA256;
    gnutls_datum_t signature = {NULL, 0};
    gnutls_sign_algorithm_t how;
    int rc;

    if (algorithm == GNUTLS_PK_EDDSA_ED25519)
        digest = GNUTLS_DIG_SHA512;
    how = gnutls_pk_to_sign((gnutls_pk_algorithm_t)algorithm, digest);
    if (algorithm == GNUTLS_PK_EDDSA_ED25519)
        how = GNUTLS_SIGN_EDDSA_ED25519;
    rc = gnutls_privkey_sign_data(g->key, digest, 0, &data, &signature);
    if (rc >= 0)
        rc = gnutls_pubkey_verify_data2(g->chain[0].pubkey, how, 0, &data,
                                        &signature);
    gnutls_free(signature.data);
    return rc < 0 ? bad(err, "api.tls.key", path,
                        "is not the key of the certificate", rc)
                  : ST_OK;
}

/* Anybody may read it. */
static enum status pem_read(const char *path, const char *key, struct buf *text,
                            gnutls_datum_t *ret, struct err *err)
{
    enum status s = secret_read(path, key, false, PEM_MAX, text, err);

    if (s == ST_OK)
        *ret = (gnutls_datum_t){(unsigned char *)text->s, (unsigned)text->n};
    return s;
}

static enum status trust_read(struct generation *g, const char *path,
                              char **ret_text, struct err *err)
{
    gnutls_datum_t data;
    enum status s;
    struct buf text;
    int rc;

    if (!*path)
        return ST_OK;
    s = pem_read(path, "api.tls.client_ca", &text, &data, err);
    if (s != ST_OK)
        return s;
    rc = gnutls_x509_trust_list_init(&g->trust, 0);
    if (rc == 0)
        rc = gnutls_x509_trust_list_add_trust_mem(g->trust, &data, NULL,
                                                  GNUTLS_X509_FMT_PEM, 0, 0);
    if (rc > 0 && ret_text)
        *ret_text = buf_take(&text);
    buf_done(&text);
    return rc > 0 ? ST_OK
                  : bad(err, "api.tls.client_ca", path,
                        "has no usable certificate", rc);
}

/* When the first of the lists is out of date: GnuTLS asks that only where it reads one.
 * Wall s, 0: none says. */
static int64_t crl_ends(const gnutls_datum_t *data)
{
    gnutls_x509_crl_t *crl = NULL;
    int64_t ends = 0;
    unsigned n = 0;

    if (gnutls_x509_crl_list_import2(&crl, &n, data, GNUTLS_X509_FMT_PEM, 0) <
        0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t next = (int64_t)gnutls_x509_crl_get_next_update(crl[i]);

        if (next > 0 && (ends == 0 || next < ends))
            ends = next;
        gnutls_x509_crl_deinit(crl[i]);
    }
    gnutls_free(crl);
    return ends;
}

/* Signed by the authority, and in force: one of yesterday hides what was taken
 * back since. */
static enum status crl_read(struct generation *g, const char *path,
                            struct err *err)
{
    gnutls_datum_t data;
    enum status s;
    struct buf text;
    int rc;

    if (!*path)
        return ST_OK;
    if (!g->trust)
        return err_set(err, ST_INVALID,
                       "api.tls.client_crl: needs client_ca, whose list it is");
    s = pem_read(path, "api.tls.client_crl", &text, &data, err);
    if (s != ST_OK)
        return s;
    rc = gnutls_x509_trust_list_add_trust_mem(
        g->trust, NULL, &data, GNUTLS_X509_FMT_PEM,
        GNUTLS_TL_VERIFY_CRL | GNUTLS_TL_FAIL_ON_INVALID_CRL, 0);
    g->crl_ends = crl_ends(&data);
    buf_done(&text);
    return rc > 0 ? ST_OK
                  : bad(err, "api.tls.client_crl", path,
                        "has no usable list of api.tls.client_ca", rc);
}

static enum status generation_read(char *const paths[PATHS], char **ret_ca,
                                   struct generation **ret, struct err *err)
{
    struct generation *g = MEM_NEW(struct generation);
    enum status s;

    if ((s = chain_read(g, paths[0], err)) != ST_OK ||
        (s = key_read(g, paths[1], err)) != ST_OK ||
        (s = pair_check(g, paths[1], err)) != ST_OK ||
        (s = trust_read(g, paths[2], ret_ca, err)) != ST_OK ||
        (s = crl_read(g, paths[3], err)) != ST_OK) {
        generation_free(g);
        return s;
    }
    *ret = g;
    return ST_OK;
}

/* ---- all of them */

/* What the handshake asks for. */
static int pick(gnutls_session_t session, const gnutls_datum_t *authorities,
                int n_authorities, const gnutls_pk_algorithm_t *algorithms,
                int n_algorithms, gnutls_pcert_st **ret_chain, unsigned *ret_n,
                gnutls_privkey_t *ret_key)
{
    struct certs *c = atomic_load(&serving);

    (void)session, (void)authorities, (void)n_authorities;
    (void)algorithms, (void)n_algorithms;
    if (!c)
        return -1;
    pthread_mutex_lock(&c->lock);
    *ret_chain = c->now->chain;
    *ret_n = c->now->n;
    *ret_key = c->now->key;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

static void options_fill(struct certs *c)
{
    struct MHD_OptionItem *o = c->options;

    *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
                                   (void *)pick};
    *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                   (void *)(uintptr_t)CERTS_PRIORITIES};
    if (c->ca_text)
        *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                       c->ca_text};
    *o = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

static void stamps_take(const struct certs *c, struct stamp ret[PATHS])
{
    for (int i = 0; i < PATHS; i++)
        ret[i] = stamp_of(c->paths[i]);
}

enum status certs_open(const char *cert, const char *key, const char *client_ca,
                       const char *crl, struct certs **ret, struct err *err)
{
    struct certs *c = MEM_NEW(struct certs);
    enum status s;

    pthread_mutex_init(&c->lock, NULL);
    c->paths[0] = mem_strdup(cert);
    c->paths[1] = mem_strdup(key);
    c->paths[2] = mem_strdup(client_ca);
    c->paths[3] = mem_strdup(crl);
    stamps_take(c, c->stamps);
    s = generation_read(c->paths, &c->ca_text, &c->now, err);
    if (s != ST_OK) {
        certs_close(c);
        return s;
    }
    options_fill(c);
    atomic_store(&serving, c);
    *ret = c;
    return ST_OK;
}

void certs_close(struct certs *c)
{
    struct certs *ours = c;

    if (!c)
        return;
    atomic_compare_exchange_strong(&serving, &ours, NULL);
    for (struct generation *g = c->now, *older; g; g = older) {
        older = g->older;
        generation_free(g);
    }
    for (int i = 0; i < PATHS; i++)
        free(c->paths[i]);
    free(c->ca_text);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct MHD_OptionItem *certs_options(struct certs *c)
{
    return c->options;
}

static void replace(struct certs *c, struct generation *g, int64_t now_ms)
{
    struct generation **at;

    pthread_mutex_lock(&c->lock);
    c->now->replaced_ms = now_ms;
    g->older = c->now;
    c->now = g;
    pthread_mutex_unlock(&c->lock);
    /* only this thread follows `older` */
    for (at = &g->older; *at;) {
        struct generation *old = *at;

        if (now_ms - old->replaced_ms < KEEP_MS) {
            at = &old->older;
            continue;
        }
        *at = old->older;
        generation_free(old);
    }
}

static void problem_set(struct certs *c, const char *text)
{
    pthread_mutex_lock(&c->lock);
    snprintf(c->problem, sizeof c->problem, "%s", text);
    pthread_mutex_unlock(&c->lock);
}

static bool crl_is_over(const struct generation *g)
{
    return g->crl_ends && clock_wall_ms() / 1000 >= g->crl_ends;
}

/* A list in force that has become out of date is told until another is there. */
static void crl_look(struct certs *c)
{
    if (c->told_over || !crl_is_over(c->now))
        return;
    c->told_over = true;
    problem_set(c, "api.tls.client_crl is out of date: no client's certificate "
                   "is let in");
    log_error("%s", c->problem);
}

/* Whom a newer list takes back is out, though the certificate cannot be used. */
static bool crl_alone(struct certs *c)
{
    struct generation g = {0};
    gnutls_x509_trust_list_t was;
    struct err err;
    bool taken = *c->paths[3] &&
                 trust_read(&g, c->paths[2], NULL, &err) == ST_OK &&
                 crl_read(&g, c->paths[3], &err) == ST_OK;

    if (taken) {
        pthread_mutex_lock(&c->lock);
        was = c->now->trust;
        c->now->trust = g.trust;
        c->now->crl_ends = g.crl_ends;
        pthread_mutex_unlock(&c->lock);
        c->told_over = false;
        g.trust = was;
    }
    if (g.trust)
        gnutls_x509_trust_list_deinit(g.trust, 1);
    return taken;
}

void certs_refresh(struct certs *c)
{
    struct stamp now[PATHS];
    struct generation *g;
    struct err err;
    int same = 0;

    stamps_take(c, now);
    while (same < PATHS && stamp_same(&now[same], &c->stamps[same]))
        same++;
    if (same == PATHS) {
        crl_look(c);
        return;
    }
    memcpy(c->stamps, now, sizeof now);
    if (generation_read(c->paths, NULL, &g, &err) == ST_OK) {
        replace(c, g, clock_mono_ms());
        c->told_over = false;
        problem_set(c, "");
        log_info("api.tls: the new certificate is in use");
    } else {
        problem_set(c, err.text);
        log_error("%s; the certificate before stays in use%s", err.text,
                  crl_alone(c) ? ", with what api.tls.client_crl is now" : "");
    }
}

const char *certs_problem(struct certs *c, char *buf, size_t n)
{
    pthread_mutex_lock(&c->lock);
    snprintf(buf, n, "%s", c->problem);
    pthread_mutex_unlock(&c->lock);
    return buf;
}

/* ---- clients */

struct shown {
    atomic_uint refs;
    unsigned n;
    gnutls_datum_t v[CHAIN_MAX];
};

static enum cert_kind kind_of(unsigned san)
{
    return san == GNUTLS_SAN_DNSNAME      ? CERT_DNS
           : san == GNUTLS_SAN_URI        ? CERT_URI
           : san == GNUTLS_SAN_RFC822NAME ? CERT_EMAIL
                                          : CERT_KINDS;
}

/* False: a NUL is in it, so that somebody reads another name than he signed. */
static bool name_add(struct cert_names *to, enum cert_kind kind, char *text,
                     size_t n)
{
    if (memchr(text, '\0', n))
        return false;
    text[n] = '\0';
    if (n == 0 || (kind == CERT_EMAIL && !strchr(text, '@')))
        return true;
    to->v[to->n++].kind = kind;
    return true;
}

/* Only where there is no alternative name: an authority that checks those may
 * not have looked at this one. */
static const char *common_name(gnutls_x509_crt_t crt, struct cert_names *to)
{
    char *text = to->v[0].text;
    size_t size = CERT_NAME_MAX;

    if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                      text, &size) < 0 ||
        size >= CERT_NAME_MAX)
        return NULL;
    return name_add(to, CERT_CN, text, size) ? NULL : "a name has a NUL in it";
}

/* NULL, or what is wrong with them. */
static const char *names_of(gnutls_x509_crt_t crt, struct cert_names *to)
{
    unsigned i = 0;

    to->n = 0;
    for (; i < 64 && to->n < CERT_NAMES_MAX; i++) {
        char *text = to->v[to->n].text;
        size_t size = CERT_NAME_MAX - 1;
        unsigned kind = 0;
        int rc = gnutls_x509_crt_get_subject_alt_name2(crt, i, text, &size,
                                                       &kind, NULL);

        if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        if (rc < 0 || size >= CERT_NAME_MAX || kind_of(kind) == CERT_KINDS)
            continue; /* it is a name all the same, and not ours */
        if (!name_add(to, kind_of(kind), text, size))
            return "a name has a NUL in it";
    }
    return i == 0 ? common_name(crt, to) : NULL;
}

/* Serials, dates, purpose and chain, as of now. */
static const char *verify(struct certs *c, gnutls_x509_crt_t *list, unsigned n)
{
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = GNUTLS_CERT_INVALID;
    bool over;
    int rc;

    pthread_mutex_lock(&c->lock);
    over = crl_is_over(c->now);
    rc = gnutls_x509_trust_list_verify_crt2(c->now->trust, list, n, &purpose, 1,
                                            0, &status, NULL);
    pthread_mutex_unlock(&c->lock);
    if (over)
        return "api.tls.client_crl is out of date";
    if (rc >= 0 && status == 0)
        return NULL;
    return status & GNUTLS_CERT_REVOKED ? "it was taken back"
           : status & GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED
               ? "api.tls.client_crl is out of date"
           : status & GNUTLS_CERT_EXPIRED       ? "it is out of date"
           : status & GNUTLS_CERT_NOT_ACTIVATED ? "it is not valid yet"
           : status & GNUTLS_CERT_PURPOSE_MISMATCH
               ? "it is not for clients"
               : "it is not of api.tls.client_ca";
}

struct shown *certs_shown(struct certs *c, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const gnutls_datum_t *peers;
    struct shown *s;
    unsigned n = 0;

    peers = i && c->ca_text ? gnutls_certificate_get_peers(i->tls_session, &n)
                            : NULL;
    if (!peers || !n)
        return NULL;
    s = MEM_NEW(struct shown);
    atomic_store(&s->refs, 1);
    for (; s->n < n && s->n < CHAIN_MAX; s->n++) {
        s->v[s->n].size = peers[s->n].size;
        s->v[s->n].data = mem_alloc(peers[s->n].size);
        memcpy(s->v[s->n].data, peers[s->n].data, peers[s->n].size);
    }
    return s;
}

struct shown *shown_ref(struct shown *s)
{
    if (s)
        atomic_fetch_add(&s->refs, 1);
    return s;
}

void shown_unref(struct shown *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    for (unsigned i = 0; i < s->n; i++)
        free(s->v[i].data);
    free(s);
}

const char *certs_judge(struct certs *c, const struct shown *s,
                        struct cert_names *ret)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    const char *why = NULL;
    unsigned k = 0;

    ret->n = 0;
    for (; k < s->n; k++) {
        if (gnutls_x509_crt_init(&list[k]) < 0)
            break;
        if (gnutls_x509_crt_import(list[k], &s->v[k], GNUTLS_X509_FMT_DER) <
            0) {
            gnutls_x509_crt_deinit(list[k]);
            break;
        }
    }
    why = k ? verify(c, list, k) : "it cannot be read";
    if (k && !why)
        why = names_of(list[0], ret);
    for (unsigned j = 0; j < k; j++)
        gnutls_x509_crt_deinit(list[j]);
    if (!why && !ret->n)
        why = "it has no name that is used here: a DNS name, a URI, an e-mail "
              "address, or a common name and no other";
    return why;
}
