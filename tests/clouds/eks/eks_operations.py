"""Every operation the plug-in uses, with the SDK's recordings of it.

The gate's fixture refuses a test whose requests are not all in this table, and
test_eks_golden.py a recording that is not reproduced.  None is recorded of
those with an empty list; the form of all of them is judged by botocore's model.
"""
OPERATIONS = {
    "DescribeAutoScalingGroups": ["asg_describe_auto_scaling_groups"],
    "DescribeScalingActivities": ["asg_describe_scaling_activities"],
    "SetDesiredCapacity": ["asg_set_desired_capacity"],
    "TerminateInstanceInAutoScalingGroup": ["asg_terminate_instance_decrement", "asg_terminate_instances_multi"],
    "LaunchInstances": ["asg_launch_instances"],
    "CreateOrUpdateTags": [],
    "DeleteTags": [],
    "SetInstanceProtection": [],
    "DescribeInstances": ["ec2_describe_instances_filter"],
    "DescribeInstanceStatus": [],
    "DescribeInstanceTypes": ["ec2_describe_instance_types"],
    "DescribeSpotPriceHistory": [],
    "DescribeSpotInstanceRequests": [],
    "GetServiceQuota": [],
    "CreateTags": [],
    "RunInstances": [],
    "TerminateInstances": [],
    "GetConsoleOutput": [],
    "DescribeSubnets": [],
    "DescribeInstanceTypeOfferings": [],
    "DescribeNodegroup": ["eks_describe_nodegroup", "eks_describe_nodegroup_notfound"],
    "AssumeRole": [],
    "AssumeRoleWithWebIdentity": ["sts_assume_role_with_web_identity"],
}
AGENTS = ["auth_imdsv2", "auth_pod_identity_container_credentials"]


def unknown(log):
    return sorted({x["action"] for x in log} - set(OPERATIONS))
