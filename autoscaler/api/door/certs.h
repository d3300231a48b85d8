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

struct certs;

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption:
 * RFC 9325 (BCP 195), 4.2. */
#define CERTS_PRIORITIES \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:" \
    "+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:" \
    "%SERVER_PRECEDENCE"

/* client_ca: "" for none.  One at a time in a process: the TLS library hands
 * no argument to the callback that picks the certificate. */
enum status certs_open(const char *cert, const char *key, const char *client_ca,
                       struct certs **ret, struct err *err);
/* After the servers that use it have been stopped; c may be NULL. */
void certs_close(struct certs *c);
/* Options for libmicrohttpd, to be given with MHD_USE_TLS; ends with
 * MHD_OPTION_END and lives as long as c. */
struct MHD_OptionItem *certs_options(struct certs *c);
/* Reads files that have changed; once a second, by one thread. */
void certs_refresh(struct certs *c);
/* "" or why the newest files are not in use; buf of n bytes. */
const char *certs_problem(struct certs *c, char *buf, size_t n);

/* Has the client shown a certificate of client_ca that is good now?  Its name:
 * the first DNS name, e-mail address or URI in it, or the common name.  False
 * with a text in ret_why: it has shown one that is not good; with "": none. */
bool certs_client(struct certs *c, struct MHD_Connection *connection,
                  char *ret_name, size_t n, const char **ret_why);

#endif
