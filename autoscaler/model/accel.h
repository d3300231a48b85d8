/*
 * accel.h - the one table of accelerators.
 *
 * Sources: Ray's accelerator support (ray/_private/accelerators: resource
 * name and visible-devices variable of each), Kubernetes extended resource
 * names of the vendors' device plug-ins, NVIDIA's shared and MIG names.
 */
#ifndef MODEL_ACCEL_H
#define MODEL_ACCEL_H

#include <stdbool.h>
#include <stdint.h>

struct accel {
    const char *resource;    /* Ray's resource name: "GPU", "TPU" */
    const char *vendor;      /* "NVIDIA" */
    const char *k8s;         /* extended resource: "nvidia.com/gpu" */
    const char *visible_env; /* "CUDA_VISIBLE_DEVICES" */
    bool fractions;          /* may a task ask for 0.5 of one? */
};

const struct accel *accel_table(unsigned *ret_n);

/* Is this Ray resource made of whole devices (a fraction is of one device)? */
bool accel_is_device(const char *resource);
/* By which a TPU slice of several hosts is asked for ("TPU-v4-16-head"): the first
 * of its hosts has it. */
bool accel_is_slice_head(const char *resource);
/* Devices whose use is whole only: neuron_cores, TPU, HPU. */
bool accel_fractions(const char *resource);

/* A Kubernetes extended resource name ("nvidia.com/gpu", "amd.com/gpu") to
 * Ray's resource ("GPU"); shared and sliced NVIDIA names ("nvidia.com/
 * gpu.shared", "nvidia.com/mig-3g.20gb") stay resources of their own: returns
 * the name itself.  NULL when it is no accelerator at all. */
const char *accel_from_k8s(const char *name);

/* The label under which an accelerator_type is matched, everywhere. */
#define ACCEL_LABEL "ray.io/accelerator-type"
/* Ray's spelling as a resource: "accelerator_type:T4" -> "T4", else NULL. */
const char *accel_type_of_resource(const char *name);
/* One name for one product: "nvidia-tesla-t4", "t4", "Tesla-T4" -> "T4"; a
 * name that is not in the table is returned as it is. */
const char *accel_type_canonical(const char *name);
/* Is it the name of a product, as accel_type_canonical() has them? */
bool accel_type_known(const char *name);
/* "T4" for "T-4": a name that has the letters of a product's and is none, or NULL. */
const char *accel_type_meant(const char *name);

/* The type that a Kubernetes node label means: "cloud.google.com/
 * gke-accelerator" with "nvidia-tesla-t4" -> "T4"; "" when the key names no
 * accelerator. */
const char *accel_type_of_label(const char *key, const char *value);

/* Does a machine with this type do for who asks for that one?  The same name,
 * or one product in a certain size: "A100-80G" is an A100 (ray.util.
 * accelerators: the sizes stand beside the plain name).  Not the reverse. */
bool accel_type_serves(const char *has, const char *wanted);

#endif
