/*
 * test_cloud_console.c - the end of what a machine printed, fit to be shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../autoscaler/cloud/console.h"

static void shows(const char *text, size_t max, const char *want)
{
    struct arena a = {0};

    assert_string_equal(console_tail(&a, text, strlen(text), max), want);
    arena_done(&a);
}

static void test_plain(void **state)
{
    (void)state;
    shows("", 100, "");
    shows("\n\r\n \n", 100, "");
    shows("one\r\ntwo\n\n  three", 100, "one | two | three");
    shows("1%\r50%\r100%\r\n", 100, "100%");
    shows("\033[1;31mred\033[0m\033]0;title\atext\033(B.", 100, "redtext.");
    shows("a\tb\001c\xff\xe2\x80\xae", 100, "a b?c????");
    shows("cut \033[", 100, "cut ");
}

static void test_only_the_end(void **state)
{
    char text[4000] = "";
    struct arena a = {0};

    (void)state;
    shows("one\ntwo\nthree", 14, "two | three");
    shows("one\ntwo\nthree", 3, "");
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), 10, "%d\n", i);
    assert_int_equal(
        strncmp(console_tail(&a, text, strlen(text), 4000), "60 | 61 | ", 10),
        0);
    arena_done(&a);
}

static void test_no_secrets(void **state)
{
    (void)state;
    shows("export RAY_AUTH_TOKEN=abc123 next", 100,
          "export RAY_AUTH_TOKEN=REMOVED next");
    shows("Password: 'two words' x", 100, "Password: REMOVED x");
    shows("{\"client_secret\": \"s\", \"a\": 1}", 100,
          "{\"client_secret\": REMOVED, \"a\": 1}");
    shows("Authorization: Bearer abc.def-g rest", 100,
          "Authorization: REMOVED rest");
    shows("git clone https://me:pw@host/x https://host/@y", 100,
          "git clone https://REMOVED@host/x https://host/@y");
    shows("AKIAIOSFODNN7EXAMPLE", 100, "REMOVED");
    shows("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA "
          "PRIVATE KEY-----\nb",
          100, "a | REMOVED | b");
    shows("startup-script: token expires", 100,
          "startup-script: token expires");
    shows("-----BEGIN PRIVATE KEY-----\nMIIE", 100, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain),
                                       cmocka_unit_test(test_only_the_end),
                                       cmocka_unit_test(test_no_secrets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
