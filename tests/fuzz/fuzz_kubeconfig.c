/*
 * fuzz_kubeconfig.c - a kubeconfig of somebody's.  Held: access or a reason, and
 * never a token with a line break in it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/wire/kube/access.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kube_access_opts o = {.context = ""};
    struct kube_access *a = NULL;
    struct err err = {0};

    /* files of this machine are not to be read */
    if (memmem(data, n, "tokenFile", 9))
        return 0;
    o.kubeconfig = memory_file(data, n, NULL);
    if (kube_access_find(&o, &a, &err) == ST_OK) {
        assert(kube_access_server(a) && kube_access_namespace(a));
        assert(strncmp(kube_access_server(a), "http", 4) == 0);
        assert(!a->token || !strpbrk(a->token, " \r\n\t"));
    } else {
        assert(!a && err.text[0]);
    }
    kube_access_free(a);
    return 0;
}
