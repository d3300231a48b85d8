/*
 * meant.c - see meant.h.
 */
#include "meant.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "../base/suggest.h"
#include "accel.h"

#define COUNT(v) (sizeof(v) / sizeof *(v))
enum { MOST_SLIPS = 2, LONG_ENOUGH = 5 };

static const struct {
    const char *wrong, *right;
} slips[] = {
    {"cpu", "CPU"},
    {"cpus", "CPU"},
    {"num_cpus", "CPU"},
    {"vcpu", "CPU"},
    {"vcpus", "CPU"},
    {"gpu", "GPU"},
    {"gpus", "GPU"},
    {"gup", "GPU"},
    {"num_gpus", "GPU"},
    {"mem", "memory"},
    {"ram", "memory"},
    {"memory", "memory"},
    {"tpu", "TPU"},
    {"tpus", "TPU"},
    {"hpu", "HPU"},
    {"npu", "NPU"},
    {"neuron_core", "neuron_cores"},
    {"neuron_cores", "neuron_cores"},
    {"neuroncores", "neuron_cores"},
};

static const char *slip_of(const char *name)
{
    for (size_t i = 0; i < COUNT(slips); i++)
        if (strcasecmp(name, slips[i].wrong) == 0)
            return slips[i].right;
    return NULL;
}

/* A device as its plug-in calls it. */
static const char *device_meant(const char *name)
{
    const char *words[16] = {"nvidia.com/gpu.shared"};
    size_t n = 1;
    unsigned all;
    const struct accel *table = accel_table(&all);

    for (unsigned i = 0; i < all && n < COUNT(words); i++)
        words[n++] = table[i].k8s;
    if (accel_from_k8s(name))
        return NULL;
    return suggest_within(name, words, n, MOST_SLIPS);
}

const char *k8s_meant(const char *name)
{
    static const char *const words[] = {"memory", "ephemeral-storage"};
    const char *right = NULL;

    if (strchr(name, '/'))
        right = device_meant(name);
    else if (strcasecmp(name, "cpus") == 0 || strcasecmp(name, "cpu") == 0)
        right = "cpu";
    else if (strlen(name) >= LONG_ENOUGH)
        right = suggest_within(name, words, COUNT(words), MOST_SLIPS);
    return right && strcmp(right, name) != 0 ? right : NULL;
}

const char *resource_meant(const char *name)
{
    static const char *const words[] = {"memory", "object_store_memory",
                                        "neuron_cores"};
    const char *right = slip_of(name);

    if (!right && strchr(name, '/'))
        right = device_meant(name);
    else if (!right && strlen(name) >= LONG_ENOUGH)
        right = suggest_within(name, words, COUNT(words), MOST_SLIPS);
    return right && strcmp(right, name) != 0 ? right : NULL;
}
