/*
 * embed.c - the files that are part of the binary: the API's description, and
 * what the page for people is made of.
 *
 * The Makefile names the files relative to the project's root.
 */
#include "files.h"

#ifndef OPENAPI_FILE
#define OPENAPI_FILE "docs/openapi.json"
#endif
#ifndef PAGE_FOLDER
#define PAGE_FOLDER "autoscaler/api/page/web"
#endif

#define EMBED(name, file) \
    __asm__(".section .rodata\n" \
            ".balign 16\n" #name "_start:\n" \
            ".incbin \"" file "\"\n" #name "_end:\n" \
            ".byte 0\n" \
            ".previous\n"); \
    extern const char name##_start[] __attribute__((visibility("hidden"))), \
        name##_end[] __attribute__((visibility("hidden")));

EMBED(openapi, OPENAPI_FILE)
#define EMBED_(name, file, type) EMBED(web_##name, PAGE_FOLDER "/" file)
PAGE_FILES(EMBED_)

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define JS "text/javascript; charset=utf-8"
#define SVG "image/svg+xml"

const struct page_file page_files[] = {
#define FILE_(name, file, type) \
    {file, type, web_##name##_start, web_##name##_end},
    PAGE_FILES(FILE_){"openapi.json", "application/json", openapi_start,
                      openapi_end},
};
const uint32_t n_page_files = sizeof page_files / sizeof *page_files;
