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

/* 0.1 does not start with a journal that has a word it does not know.  This is
 * the word itself, what 0.1 called it, or the one that does the least harm. */
enum v01_words { V01_STATE, V01_REASON, V01_ERROR };
const char *codec_v01_written(enum v01_words of, const char *word);

#endif
