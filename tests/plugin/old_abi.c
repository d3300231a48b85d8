/* old_abi.c - a plug-in of an ABI before ours: refused, and told why. */
#include "provider.h"

DAVIT_EXPORT const void *davit_provider_v0(void);
const void *davit_provider_v0(void)
{
    return "";
}
