/*
 * jwt.h - a signed claim (RS256), as service accounts show it for a token.
 *
 * Needs OpenSSL and jansson.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_JWT_H
#define KIT_JWT_H

#include <jansson.h>

#include "options.h"

/* header.claims.signature, signed with an RSA key in PEM; the caller frees it.
 * AUTH when the key cannot be used (the key itself is never in the text). */
int kit_jwt_rs256(const json_t *header, const json_t *claims, const char *pem,
                  char **ret, struct davit_error *e);

#endif
