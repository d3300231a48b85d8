/*
 * kuberay.h - the daemon with a RayCluster in place of a file.
 */
#ifndef CLI_KUBERAY_H
#define CLI_KUBERAY_H

#include "../control/control.h"

struct kuberay_opts {
    const char *space, *name;         /* space "" : the pod's own */
    const char *kubeconfig, *context; /* "" : as found */
    const char *ray_address;          /* "" : the head's service */
    const char *state;                /* "" : as its own default */
    const char *listen, *metrics;     /* "" : the default; none */
    bool sidecar;                     /* never ends by itself: with KubeRay's v2
                                       * a container that ends takes the whole
                                       * head pod with it */
};

/* The RayCluster as settings, once; false: why is in err, cut to one line. */
bool kuberay_config(const struct kuberay_opts *k, struct config **ret,
                    struct err *err);
int kuberay_run(struct control_opts *o, const struct kuberay_opts *k);

#endif
