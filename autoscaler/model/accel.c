/*
 * accel.c - see accel.h.
 */
#include "accel.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct accel table[] = {
    {"GPU", "NVIDIA", "nvidia.com/gpu", "CUDA_VISIBLE_DEVICES", true},
    {"GPU", "AMD", "amd.com/gpu", "HIP_VISIBLE_DEVICES", true},
    {"GPU", "Intel", "gpu.intel.com/i915", "ONEAPI_DEVICE_SELECTOR", true},
    {"GPU", "Intel", "gpu.intel.com/xe", "ONEAPI_DEVICE_SELECTOR", true},
    {"neuron_cores", "AWS", "aws.amazon.com/neuroncore",
     "NEURON_RT_VISIBLE_CORES", false},
    {"TPU", "Google", "google.com/tpu", "TPU_VISIBLE_CHIPS", false},
    {"HPU", "Intel", "habana.ai/gaudi", "HABANA_VISIBLE_MODULES", false},
    {"NPU", "Huawei", "huawei.com/Ascend910", "ASCEND_RT_VISIBLE_DEVICES",
     true},
};

/* Other names of the same product: GKE's accelerator names, the GPU operator's
 * nvidia.com/gpu.product, Azure's and people's short forms.  Right column:
 * Ray's constants (ray.util.accelerators). */
static const struct {
    const char *name, *type;
} aliases[] = {
    {"nvidia-tesla-t4", "T4"},
    {"tesla-t4", "T4"},
    {"nvidia-tesla-v100", "V100"},
    {"tesla-v100", "V100"},
    {"tesla-v100-sxm2-16gb", "V100"},
    {"tesla-v100-sxm2-32gb", "V100"},
    {"nvidia-tesla-p100", "P100"},
    {"tesla-p100-pcie-16gb", "P100"},
    {"nvidia-tesla-p4", "P4"},
    {"tesla-p4", "P4"},
    {"nvidia-tesla-k80", "K80"},
    {"tesla-k80", "K80"},
    {"nvidia-tesla-a100", "A100"},
    {"nvidia-a100-sxm4-40gb", "A100"},
    {"nvidia-a100-80gb", "A100-80G"},
    {"nvidia-a100-sxm4-80gb", "A100-80G"},
    {"nvidia-a100-pcie-40gb", "A100"},
    {"nvidia-a100-pcie-80gb", "A100-80G"},
    {"a100-80gb", "A100-80G"},
    {"nvidia-a100-80gb-pcie", "A100-80G"},
    {"nvidia-l4", "L4"},
    {"nvidia-l40s", "L40S"},
    {"nvidia-a10g", "A10G"},
    {"nvidia-a10", "A10"},
    {"nvidia-h100-80gb", "H100"},
    {"nvidia-h100-80gb-hbm3", "H100"},
    {"nvidia-h100-mega-80gb", "H100"},
    {"nvidia-h200-141gb", "H200"},
    {"nvidia-h200", "H200"},
    {"nvidia-b200", "B200"},
    {"v100", "V100"},
    {"p100", "P100"},
    {"t4", "T4"},
    {"p4", "P4"},
    {"k80", "K80"},
    {"a10", "A10"},
    {"a10g", "A10G"},
    {"l4", "L4"},
    {"l40s", "L40S"},
    {"a100", "A100"},
    {"h100", "H100"},
    {"h200", "H200"},
    {"h20", "H20"},
    {"b200", "B200"},
    {"b300", "B300"},
    {"gb200", "GB200"},
    {"a100-40g", "A100-40G"},
    {"a100-80g", "A100-80G"},
};

#define COUNT(v) (sizeof(v) / sizeof *(v))

const struct accel *accel_table(unsigned *ret_n)
{
    *ret_n = COUNT(table);
    return table;
}

static const struct accel *accel_of(const char *resource)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (strcmp(table[i].resource, resource) == 0)
            return &table[i];
    return NULL;
}

bool accel_is_device(const char *resource)
{
    return accel_of(resource);
}

bool accel_is_slice_head(const char *resource)
{
    size_t n = strlen(resource);

    return n > 9 && strncmp(resource, "TPU-", 4) == 0 &&
           strcmp(resource + n - 5, "-head") == 0;
}

bool accel_fractions(const char *resource)
{
    const struct accel *a = accel_of(resource);

    return !a || a->fractions;
}

const char *accel_from_k8s(const char *name)
{
    size_t n = strlen(name);

    if (strcmp(name, "nvidia.com/gpu.shared") == 0 ||
        strncmp(name, "nvidia.com/mig-", 15) == 0)
        return name;
    for (size_t i = 0; i < COUNT(table); i++)
        if (strcmp(table[i].k8s, name) == 0)
            return table[i].resource;
    /* KubeRay: any key that ends in "gpu" is a GPU. */
    if (n >= 3 && strcmp(name + n - 3, "gpu") == 0)
        return "GPU";
    return NULL;
}

const char *accel_type_of_resource(const char *name)
{
    static const char prefix[] = "accelerator_type:";

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        !name[sizeof prefix - 1])
        return NULL;
    return name + sizeof prefix - 1;
}

const char *accel_type_canonical(const char *name)
{
    for (size_t i = 0; i < COUNT(aliases); i++) {
        const char *a = aliases[i].name, *b = name;
        while (*a && *a == tolower((unsigned char)*b)) {
            a++;
            b++;
        }
        if (!*a && !*b)
            return aliases[i].type;
    }
    return name;
}

const char *accel_type_of_label(const char *key, const char *value)
{
    static const char *const keys[] = {
        "cloud.google.com/gke-accelerator",    "nvidia.com/gpu.product",
        "k8s.amazonaws.com/accelerator",       "amd.com/gpu.product-name",
        "karpenter.k8s.aws/instance-gpu-name",
    };
    /* GKE's TPU machines, by the name Ray gives their accelerator. */
    static const struct {
        const char *value, *type;
    } tpus[] = {
        {"tpu-v4-podslice", "TPU-V4"},
        {"tpu-v5-lite-device", "TPU-V5LITEPOD"},
        {"tpu-v5-lite-podslice", "TPU-V5LITEPOD"},
        {"tpu-v5p-slice", "TPU-V5P"},
        {"tpu-v6e-slice", "TPU-V6E"},
        {"tpu7x", "TPU-V7X"},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return accel_type_canonical(value);
    if (strcmp(key, "cloud.google.com/gke-tpu-accelerator") == 0)
        for (size_t i = 0; i < sizeof tpus / sizeof *tpus; i++)
            if (strcmp(value, tpus[i].value) == 0)
                return tpus[i].type;
    if (strcmp(key, ACCEL_LABEL) == 0)
        return accel_type_canonical(value);
    return "";
}

bool accel_type_serves(const char *has, const char *wanted)
{
    size_t n = strlen(wanted);

    if (strncmp(has, wanted, n) != 0)
        return false;
    if (!has[n])
        return true;
    if (!n || has[n] != '-' || !isdigit((unsigned char)has[n + 1]))
        return false;
    for (has += n + 1; isdigit((unsigned char)*has); has++)
        ;
    return strcmp(has, "G") == 0;
}

/* Letters and digits alone, small ones. */
static void plain_of(const char *name, char ret[64])
{
    size_t n = 0;

    for (; *name && n < 63; name++)
        if (isalnum((unsigned char)*name))
            ret[n++] = (char)tolower((unsigned char)*name);
    ret[n] = '\0';
}

bool accel_type_known(const char *name)
{
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (strcmp(aliases[i].type, name) == 0)
            return true;
    return false;
}

const char *accel_type_meant(const char *name)
{
    char wanted[64], there[64];

    if (accel_type_known(name))
        return NULL;
    plain_of(name, wanted);
    for (size_t i = 0; i < COUNT(aliases); i++) {
        plain_of(aliases[i].name, there);
        if (strcmp(there, wanted) == 0)
            return aliases[i].type;
    }
    return NULL;
}
