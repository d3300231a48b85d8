/*
 * embed.c - the two documents that are part of the binary.
 *
 * The Makefile names the files relative to the project's root.
 */
#include "inside.h"

#ifndef OPENAPI_FILE
#define OPENAPI_FILE "docs/openapi.json"
#endif
#ifndef PAGE_FILE
#define PAGE_FILE "autoscaler/api/page.html"
#endif

#define EMBED(name, file) \
    __asm__(".section .rodata\n" \
            ".global " #name "_start\n" \
            ".global " #name "_end\n" \
            ".balign 16\n" #name "_start:\n" \
            ".incbin \"" file "\"\n" #name "_end:\n" \
            ".byte 0\n" \
            ".previous\n")

EMBED(openapi, OPENAPI_FILE);
EMBED(page, PAGE_FILE);
