/*
 * doctor.h - what the files of `davit doctor` share: one list of findings.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>

#include "../../base/buf.h"
#include "../../config/config.h"

enum finding { FINDING_OK, FINDING_WARN, FINDING_BAD };

struct checkup {
    const struct config *conf;
    const char *kubeconfig, *context; /* "": as the configuration says */
    const char *space; /* of the RayCluster, NULL: the configuration's */
    json_t *json;      /* --json: a list; else each is printed */
    struct buf hints;  /* YAML to apply; printed at the end */
    unsigned n[3];     /* by finding */
};

/* what: "Ray head", "rights in default" ... */
void finding_add(struct checkup *c, enum finding f, const char *what,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Who may call the API, and its secrets. */
void doctor_api(struct checkup *c);

/* The API server, rights, the clock, pods that grab GPUs.  Does nothing when
 * the configuration has no use for Kubernetes. */
void doctor_kube(struct checkup *c);

#endif
