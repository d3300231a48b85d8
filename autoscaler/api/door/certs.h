/*
 * certs.h - the server's certificate and key, and the authority of clients'
 * certificates; read again when their files change.
 *
 * Connections that are open keep what they began with.  A file that cannot be
 * used leaves the one before in force, and problem() says so.
 */
#ifndef API_DOOR_CERTS_H
#define API_DOOR_CERTS_H

#include <microhttpd.h>

#include "../../base/err.h"
#include "access.h"

struct certs;

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption:
 * RFC 9325 (BCP 195), 4.2. */
#define CERTS_PRIORITIES \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:" \
    "+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:" \
    "%SERVER_PRECEDENCE"

/* client_ca, crl (of its certificates that were taken back): "" for none.  One at
 * a time in a process: the TLS library hands
 * no argument to the callback that picks the certificate. */
enum status certs_open(const char *cert, const char *key, const char *client_ca,
                       const char *crl, struct certs **ret, struct err *err);
/* After the servers that use it have been stopped; c may be NULL. */
void certs_close(struct certs *c);
/* Options for libmicrohttpd, to be given with MHD_USE_TLS; ends with
 * MHD_OPTION_END and lives as long as c. */
struct MHD_OptionItem *certs_options(struct certs *c);
/* Reads files that have changed; once a second, by one thread. */
void certs_refresh(struct certs *c);
/* "" or why the newest files are not in use; buf of n bytes. */
const char *certs_problem(struct certs *c, char *buf, size_t n);

/* What a client has shown, to be judged again later: counted, NULL: nothing. */
struct shown;
struct shown *certs_shown(struct certs *c, struct MHD_Connection *connection);
struct shown *shown_ref(struct shown *s);
void shown_unref(struct shown *s); /* s may be NULL */

/* The names in a certificate: those of its subject's alternative names, and the
 * common name only where there is no such name of any kind at all. */
enum { CERT_NAMES_MAX = 16, CERT_NAME_MAX = 256 };
struct cert_names {
    struct {
        enum cert_kind kind;
        char text[CERT_NAME_MAX];
    } v[CERT_NAMES_MAX];
    uint32_t n;
};
/* Is it a certificate of client_ca that is good now, and not taken back?  NULL,
 * or why not. */
const char *certs_judge(struct certs *c, const struct shown *s,
                        struct cert_names *ret);

#endif
