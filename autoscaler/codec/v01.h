/*
 * v01.h - the names that Davit 0.1 wrote, read for one more version.
 *
 * One table, docs/changes.md in C.  The readers know today's names only: what
 * comes from outside is brought up to date before they see it.
 */
#ifndef CODEC_V01_H
#define CODEC_V01_H

#include <jansson.h>

/* Renames what 0.1 called otherwise, in a snapshot and the plan in it.  An
 * object that has both names keeps the old one, which its reader refuses. */
void codec_v01_update(json_t *root);
/* Today's name of a key or of a reason's code; its own when it is not old. */
const char *codec_v01_key(const char *key);
const char *codec_v01_reason(const char *code);

#endif
