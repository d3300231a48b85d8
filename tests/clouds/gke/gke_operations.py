"""Every operation the plug-in uses, with the SDKs' recordings of it.

The test cloud's fixture refuses a test whose requests are not all in this
table, and test_gke_golden.py a recording that is not reproduced.
"""
OPERATIONS = {
    "container.projects.locations.clusters.nodePools.list": ["gke_list_node_pools", "gapi_list_node_pools"],
    "container.projects.locations.clusters.nodePools.setAutoscaling": ["gke_set_node_pool_autoscaling"],
    "container.projects.locations.operations.get": ["gke_get_operation"],
    "compute.instanceGroupManagers.listManagedInstances": ["gce_igm_list_managed_instances", "gapi_list_managed_instances"],
    "compute.instanceGroupManagers.createInstances": ["gce_igm_create_instances"],
    "compute.instanceGroupManagers.deleteInstances": ["gce_igm_delete_instances", "gapi_delete_instances"],
    "compute.zoneOperations.get": ["gce_zone_operation_get"],
    "compute.instances.list": ["gce_instances_list"],
    "compute.machineTypes.get": ["gce_machine_type_get"],
    # Not recorded: gce/test_gce_sdk.py compares them with Google's client.
    "compute.instances.get": [],
    "compute.regions.get": [],
    "compute.projects.get": [],
    # Not recorded: judged by Google's discovery document, as every request is.
    "compute.instanceGroupManagerResizeRequests.insert": [],
    "compute.instanceGroupManagerResizeRequests.list": [],
    "compute.instanceGroupManagerResizeRequests.cancel": [],
    "compute.instanceGroupManagerResizeRequests.delete": [],
    "compute.acceleratorTypes.list": ["gce_accelerator_types_list"],
}
TOKENS = ["auth_metadata_server", "auth_service_account_jwt_grant", "auth_service_account_jwt_decoded",
          "auth_workload_identity_federation"]


def unknown(used):
    return sorted(set(used) - set(OPERATIONS))
