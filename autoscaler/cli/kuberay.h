/*
 * kuberay.h - the daemon with a RayCluster in place of a file.
 */
#ifndef CLI_KUBERAY_H
#define CLI_KUBERAY_H

#include "../control/config_source.h"
#include "../control/control.h"

struct kuberay_opts {
    const char *space, *name;         /* space "" : the pod's own */
    const char *kubeconfig, *context; /* "" : as found */
    const char *ray_address;          /* "" : the head's service */
    const char *state;                /* "" : as its own default */
    const char *listen, *metrics;     /* "" : the default; none */
    const char *settings; /* a file with a davit: block; "" : none */
    bool sidecar;         /* never ends by itself: with KubeRay's v2
                                       * a container that ends takes the whole
                                       * head pod with it */
};

/* The RayCluster as settings, once; false: why is in err, cut to one line.
 * The settings name what the source holds (a kubeconfig's token): free it
 * last. */
bool kuberay_config(const struct kuberay_opts *k, struct config_source **source,
                    struct config **ret, struct err *err);
int kuberay_run(struct control_opts *o, const struct kuberay_opts *k);

#endif
