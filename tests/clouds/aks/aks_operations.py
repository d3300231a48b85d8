"""Every operation the plug-in uses, with the SDK's recordings of it.

The test cloud's fixture refuses a test whose requests are not all in this
table, and test_aks_golden.py a recording that is not reproduced.
"""
import re

CLUSTER = r"/subscriptions/[\w-]+/resourceGroups/[\w-]+/providers/Microsoft.ContainerService/managedClusters/[\w-]+"
PLACES = r"/subscriptions/[\w-]+/providers/Microsoft.ContainerService/locations/\w+"
OPERATIONS = {
    f"GET {CLUSTER}": ["aks_managed_cluster_get"],
    f"GET {CLUSTER}/agentPools": ["aks_agent_pools_list"],
    rf"GET {CLUSTER}/agentPools/\w+": ["aks_agent_pool_get", "aks_throttled_429_retry"],
    rf"PUT {CLUSTER}/agentPools/\w+": ["aks_agent_pool_scale_get_then_put", "aks_agent_pool_scale_if_match",
                                       "aks_agent_pool_scale_failed_lro"],
    rf"GET {CLUSTER}/agentPools/\w+/machines": ["aks_machines_list"],
    rf"POST {CLUSTER}/agentPools/\w+/deleteMachines": ["aks_agent_pool_delete_machines"],
    rf"POST {CLUSTER}/agentPools/\w+/abort": ["aks_agent_pool_abort"],
    rf"GET {PLACES}/operations/[\w-]+": ["aks_agent_pool_scale_failed_lro"],
    rf"GET {PLACES}/operationresults/[\w-]+": ["aks_agent_pool_delete_machines", "aks_agent_pool_abort"],
    r"GET /subscriptions/[\w-]+/providers/Microsoft.Compute/skus": ["compute_resource_skus_list"],
    r"GET /subscriptions/[\w-]+/providers/Microsoft.Compute/locations/\w+/usages": ["compute_usage_list"],
    r"GET /subscriptions/[\w-]+/resourceGroups/[\w-]+/providers/Microsoft.Compute/virtualMachineScaleSets/[\w-]+/virtualMachines":
        ["compute_vmss_vms_list"],
}
TOKENS = ["auth_client_credentials", "auth_workload_identity", "auth_managed_identity_imds"]


def of(method, path):
    return next((k for k in OPERATIONS if re.fullmatch(k, f"{method} {path}")), None)


def unknown(log):
    return sorted({f"{x['method']} {x['path']}" for x in log if x["path"].startswith("/subscriptions/") and not of(x["method"], x["path"])})
