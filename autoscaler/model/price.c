/*
 * price.c - the one formula for unknown prices, see price.h.
 *
 * The constants are the public on-demand list of GCP's n1 family; what matters
 * is the order between offers, not the cent.
 */
#include "price.h"

#include <string.h>

#include "accel.h"
#include "amount.h"

#define MICROS_VCPU 31611
#define MICROS_GIB 4237
#define MICROS_UNKNOWN 1000000
#define MICROS_MAX (INT64_C(1000000) * 1000000) /* a million dollars an hour */

static const struct {
    const char *type;
    int64_t micros;
} VALUES[] = {
    {"K80", 450000},
    {"P4", 600000},
    {"T4", 350000},
    {"M60", 600000},
    {"P100", 1460000},
    {"V100", 2480000},
    {"L4", 560000},
    {"A10", 1000000},
    {"A10G", 1000000},
    {"L40S", 1600000},
    {"A100", 2930000},
    {"A100-40G", 2930000},
    {"A100-80G", 3930000},
    {"H100", 9800000},
    {"H200", 10600000},
    {"B200", 14000000},
    {"GB200", 15000000},
    {"MI300X", 6000000},
    {"V100M16", 2480000},
    {"V100M32", 2900000},
    {"TPU-V4", 3220000},
    {"TPU-V5LITEPOD", 1200000},
    {"TPU-V5P", 4200000},
    {"TPU-V6E", 2700000},
    {"aws-neuron-core", 670000},
};

static int64_t value_of(const char *accelerator)
{
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (strcmp(VALUES[i].type, accelerator) == 0)
            return VALUES[i].micros;
    return MICROS_UNKNOWN;
}

/* amount (1/10,000) of something that costs micros for each `unit` pieces. */
static int64_t cost_of(int64_t amount, int64_t micros, int64_t unit)
{
    __int128 c = (__int128)amount * micros / ((__int128)unit * AMOUNT_ONE);

    return c > MICROS_MAX ? MICROS_MAX : (int64_t)c;
}

int64_t price_estimate(const struct qtys *resources, const char *accelerator,
                       bool spot)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < resources->n; i++) {
        const struct qty *q = &resources->v[i];

        if (q->amount <= 0)
            continue;
        if (strcmp(q->name, "CPU") == 0)
            sum += cost_of(q->amount, MICROS_VCPU, 1);
        else if (strcmp(q->name, "memory") == 0)
            sum += cost_of(q->amount, MICROS_GIB, INT64_C(1) << 30);
        else if (accel_is_device(q->name))
            sum += cost_of(q->amount, value_of(accelerator), 1);
        if (sum > MICROS_MAX)
            sum = MICROS_MAX;
    }
    return spot ? sum * 2 / 5 : sum;
}
