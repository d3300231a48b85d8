/*
 * glob.h - does a text fit a pattern in which '*' stands for any bytes?
 *
 * Linear but for the text between two stars, whoever chose the text.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

bool glob_fits(const char *pattern, const char *text);

#endif
