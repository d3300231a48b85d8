/*
 * partition.c - the host of a service in a region: botocore's partitions.json
 * and the services' endpoint rules, with which tests compare this.
 */
#include <string.h>

#include "inside.h"

static const struct partition {
    const char *begins; /* of its regions */
    const char *suffix, *dual;
    bool bare_fips; /* its usual hosts are validated */
    bool eks_fips;  /* EKS's own way */
} partitions[] = {
    {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", false, false},
    {"us-gov-", "amazonaws.com", "api.aws", true, false},
    {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov", false, false},
    {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud", false, false},
    {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov", false, false},
    {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", false, false},
    {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu", false, false},
    {"", "amazonaws.com", "api.aws", false, true}};

void aws_host(enum aws_service s, const char *region, bool fips, bool dual,
              struct kit_str *ret)
{
    const struct partition *p = partitions;
    while (strncmp(region, p->begins, strlen(p->begins)) != 0)
        p++;
    bool before = fips && !dual && p->eks_fips && s == AWS_EKS;
    bool behind = fips && !before && (dual || !p->bare_fips);
    kit_str_printf(ret, "https://%s%s%s.%s.%s", before ? "fips." : "",
                   aws_service_name(s), behind ? "-fips" : "", region,
                   dual ? p->dual : p->suffix);
}
