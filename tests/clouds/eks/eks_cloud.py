#!/usr/bin/env python3
"""AWS for tests: moto behind a gate that checks every signature.

One process: moto_server in a thread, and in front of it a gate on a free port
which
 - recomputes every SigV4 signature with botocore's own signer and refuses what
   does not fit, what signs too little and what is too old;
 - adds what moto lacks: groups that are out of stock and say so in their
   scaling activities only, instances that come late, MinSize and MaxSize,
   several instances ended by one call, LaunchInstances, pages;
 - breaks answers as told: an error, a reset before or after the deed, half a
   body, throttling for a while;
 - plays the metadata service and a container credentials agent;
 - writes down what was asked.

    eks_cloud.py        prints {"port": ...} and runs until its stdin ends
Control: POST /_test/NAME with JSON; see the methods ctl_*.
"""
import collections
import datetime
import http.server
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

from eks_moto import Moto  # before boto3: it cleans the environment
from ec2_run import Runs
import boto3
import botocore.session
from botocore import validate
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AK, SK = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"
NS = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
LIMIT = {"InsufficientInstanceCapacity": "We currently do not have sufficient capacity in the Availability Zone you requested"}


class Refused(Exception):
    def __init__(self, code, text, status=400, headers=None):
        self.code, self.text, self.status, self.headers = code, text, status, headers or {}


class Cloud:
    def __init__(self):
        self.lock = threading.RLock()
        self.keys = {AK: SK}
        self.moto = Moto()
        kw = dict(endpoint_url=f"http://127.0.0.1:{self.moto.port}", region_name=REGION,
                  aws_access_key_id=AK, aws_secret_access_key=SK)
        self.eks, self.asg, self.ec2, self.iam = [boto3.client(s, **kw) for s in ("eks", "autoscaling", "ec2", "iam")]
        self.pools = {}          # node group -> group
        self.clear()

    def clear(self):
        with self.lock:
            self.faults = []         # see fault()
            self.stock = {}          # group -> machines left, None: any
            self.codes = {}          # group -> error of a failed launch
            self.texts = {}          # group -> the sentence of one, without a code
            self.ahead = 0           # seconds, of this cloud's clock
            self.late = {}           # group -> seconds until instances come
            self.want = {}           # group -> the target as the caller set it
            self.due = {}            # group -> when the raise takes effect
            self.activities = collections.defaultdict(list)
            self.tokens = {}         # LaunchInstances by ClientToken
            self.runs = Runs(self)   # RunInstances by ClientToken
            self.log = []            # (service, action, parameters, verdict)
            self.quotas = None       # Service Quotas of EC2: code -> (name, value); None: moto's answer
            self.page = 0            # DescribeInstances: at most so many a page
            self.health = {}         # node group -> issues
            self.statuses = {}       # node group -> status, such as UPDATING
            self.rejected = []
            self.chosen = []         # (group, machines it chose to end itself)
            self.linger = 0          # seconds an ended instance stays in its group
            self.ending = {}         # id -> (group, zone, until)
            self.retained = set()    # ids in Terminating:Retained (autoscaling's LifecycleState in botocore; userguide
                                     # manage-retained-instances: "charges apply until you manually terminate")
            self.blocks = set()      # node groups of capacityType CAPACITY_BLOCK
            self.frozen = None       # answers given again, to measure ourselves
            self.agent_expires = 3600
            self.agent_token = None
            self.agent_calls = []

    # ---- set-up, straight at moto

    def setup(self, cluster, pools):
        """pools: {node group: {zones, type, min, max, spot}}; nothing else is there."""
        self.moto.forget()
        self.pools.clear()
        subnets = {s["AvailabilityZone"]: s["SubnetId"] for s in self.ec2.describe_subnets()["Subnets"]}
        self.eks.create_cluster(name=cluster, roleArn="arn:aws:iam::123456789012:role/eks",
                                resourcesVpcConfig={"subnetIds": list(subnets.values())[:2]})
        for name, p in pools.items():
            sub = [subnets[z] for z in p["zones"]]
            ng = self.eks.create_nodegroup(
                clusterName=cluster, nodegroupName=name, subnets=sub, nodeRole="arn:aws:iam::123456789012:role/node",
                scalingConfig={"minSize": 0, "maxSize": p.get("max", 8), "desiredSize": 0},
                instanceTypes=p.get("types") or [p.get("type", "g5.xlarge")], capacityType="SPOT" if p.get("spot") else "ON_DEMAND",
                labels=p.get("labels", {"pool": name}), **({"amiType": p["ami"]} if "ami" in p else {}), **p.get("group", {}),
                taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}])["nodegroup"]
            group = ng["resources"]["autoScalingGroups"][0]["name"]
            lt = f"lt-{name}-{group[-6:]}"
            self.ec2.create_launch_template(LaunchTemplateName=lt, LaunchTemplateData={
                "ImageId": "ami-12c6146b", "InstanceType": p.get("type", "g5.xlarge")})
            tags = {"eks:nodegroup-name": name, "eks:cluster-name": cluster,
                    "k8s.io/cluster-autoscaler/node-template/label/disk": "nvme", **p.get("tags", {})}
            self.asg.create_auto_scaling_group(
                AutoScalingGroupName=group, MinSize=p.get("min", 0), MaxSize=p.get("max", 8),
                DesiredCapacity=p.get("desired", p.get("min", 0)),
                LaunchTemplate={"LaunchTemplateName": lt, "Version": "$Latest"}, VPCZoneIdentifier=",".join(sub),
                Tags=[{"Key": k, "Value": v, "ResourceId": group, "ResourceType": "auto-scaling-group",
                       "PropagateAtLaunch": k.startswith("eks:")} for k, v in tags.items()])
            self.pools[name] = group
        return self.pools

    def group(self, name):
        return self.asg.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"][0]

    def machines(self, pool):
        """What is billed: {id: {zone, tags, address}}"""
        ids = [i["InstanceId"] for i in self.group(self.pools[pool])["Instances"]]
        got = {}
        if not ids:
            return got
        for page in self.ec2.get_paginator("describe_instances").paginate(InstanceIds=ids):
            for r in page["Reservations"]:
                for i in r["Instances"]:
                    if i["State"]["Name"] in ("pending", "running"):
                        got[i["InstanceId"]] = {
                            "zone": i["Placement"]["AvailabilityZone"], "address": i["PrivateIpAddress"],
                            "tags": {t["Key"]: t["Value"] for t in i.get("Tags", [])}}
        return got

    def target(self, pool):
        g = self.pools[pool]
        return self.want.get(g, self.group(g)["DesiredCapacity"])

    # ---- what moto lacks

    def fail(self, group, n, zone):
        code = self.codes.get(group, "InsufficientInstanceCapacity")
        text = self.texts.get(group) or f"Could not launch On-Demand Instances. {code} - {LIMIT.get(code, 'That is so')} ({zone}). Launching EC2 instance failed."
        now = datetime.datetime.now(datetime.timezone.utc)
        self.activities[group].insert(0, {
            "id": f"a-{len(self.activities[group])}", "status": "Failed", "text": text, "zone": zone,
            "at": now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            "description": f"Launching a new EC2 instance.  Status Reason: {text}"})

    def settle(self, group):
        """The group goes after its target, as far as stock and time allow."""
        want = self.want.get(group)
        if want is None or self.due.get(group, 0) > time.time():
            return
        g = self.group(group)
        have, left = g["DesiredCapacity"], self.stock.get(group)
        if want > have:
            can = want if left is None else min(want, have + max(left, 0))
            if can > have:
                self.asg.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=can)
                if left is not None:
                    self.stock[group] = left - (can - have)
            if can < want:
                last = self.activities[group][:1]
                for zone in g["AvailabilityZones"]:
                    if not last or time.time() - self.failed_at.get(group, 0) > 1:
                        self.fail(group, want - can, zone)
                self.failed_at[group] = time.time()
            else:
                del self.want[group]
        else:
            if want < have:  # the group chooses who ends
                self.chosen.append((group, have - want))
                self.asg.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=want)
            del self.want[group]

    failed_at = {}

    def set_desired(self, form):
        group, n = form["AutoScalingGroupName"], int(form["DesiredCapacity"])
        try:
            g = self.group(group)
        except IndexError:
            raise Refused("ValidationError", "AutoScalingGroup name not found - AutoScalingGroup not found")
        if n > g["MaxSize"]:
            raise Refused("ValidationError", f"New SetDesiredCapacity value {n} is above max value {g['MaxSize']} for the AutoScalingGroup.")
        if n < g["MinSize"]:
            raise Refused("ValidationError", f"New SetDesiredCapacity value {n} is below min value {g['MinSize']} for the AutoScalingGroup.")
        self.want[group] = n
        self.due[group] = time.time() + self.late.get(group, 0)
        self.failed_at.pop(group, None)
        self.settle(group)
        return f'<SetDesiredCapacityResponse xmlns="{NS}"><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></SetDesiredCapacityResponse>'

    def terminate(self, form):
        for i in self.retained.intersection(form.values()):
            raise Refused("ValidationError", f"The instance {i} is not in InService or Standby.")
        ids = [v for k, v in sorted(form.items()) if k.startswith("InstanceIds.member.")] or [form["InstanceId"]]
        again = self.ending.get(ids[0])
        if again and len(ids) == 1:  # the group takes it once more, and lowers its target once more
            g = self.group(again[0])
            self.want[again[0]] = max(self.want.get(again[0], g["DesiredCapacity"]) - 1, 0)
            self.settle(again[0])
            return f'<TerminateInstanceInAutoScalingGroupResponse xmlns="{NS}"></TerminateInstanceInAutoScalingGroupResponse>'
        known = {i["InstanceId"]: i for i in self.asg.describe_auto_scaling_instances(InstanceIds=ids)["AutoScalingInstances"]}
        for i in ids:
            if i not in known:
                raise Refused("ValidationError", f"Instance Id not found - No managed instance found for instance ID {i}")
        group = known[ids[0]]["AutoScalingGroupName"]
        if len(ids) > 1 and form.get("AutoScalingGroupName") != group:
            raise Refused("ValidationError", "the instances are not of this group")
        g = self.group(group)
        wanted = self.want.get(group, g["DesiredCapacity"])
        if wanted - len(ids) < g["MinSize"]:
            raise Refused("ValidationError", "Terminating instance without replacement will violate group's min size constraint. "
                          "Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.")
        for i in ids:
            if self.linger:
                self.ending[i] = (group, known[i]["AvailabilityZone"], time.time() + self.linger)
            self.asg.terminate_instance_in_auto_scaling_group(InstanceId=i, ShouldDecrementDesiredCapacity=True)
        if group in self.want:
            self.want[group] = wanted - len(ids)
        return f'<TerminateInstanceInAutoScalingGroupResponse xmlns="{NS}"><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></TerminateInstanceInAutoScalingGroupResponse>'

    def launch_instances(self, form):
        token, group = form["ClientToken"], form["AutoScalingGroupName"]
        if token in self.tokens:
            return self.tokens[token]
        n, g = int(form["RequestedCapacity"]), self.group(group)
        zone = form.get("AvailabilityZones.member.1", g["AvailabilityZones"][0])
        if zone not in g["AvailabilityZones"]:
            raise Refused("ValidationError", f"Availability Zone {zone} is not in the group")
        left = self.stock.get(group)
        can = n if left is None else min(n, left)
        before = {i["InstanceId"] for i in g["Instances"]}
        if can:
            self.asg.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=g["DesiredCapacity"] + can)
        new = [i["InstanceId"] for i in self.group(group)["Instances"] if i["InstanceId"] not in before]
        made = "".join(f"<member><InstanceType>g5.xlarge</InstanceType><AvailabilityZone>{zone}</AvailabilityZone>"
                       f"<InstanceIds><member>{i}</member></InstanceIds></member>" for i in new)
        code = self.codes.get(group, "InsufficientInstanceCapacity")
        bad = "" if can == n else (f"<member><InstanceType>g5.xlarge</InstanceType><AvailabilityZone>{zone}</AvailabilityZone>"
                                   f"<ErrorCode>{code}</ErrorCode><ErrorMessage>{LIMIT.get(code, 'no')}</ErrorMessage></member>")
        self.tokens[token] = (f'<LaunchInstancesResponse xmlns="{NS}"><LaunchInstancesResult><AutoScalingGroupName>{group}</AutoScalingGroupName>'
                              f"<ClientToken>{token}</ClientToken><Instances>{made}</Instances><Errors>{bad}</Errors></LaunchInstancesResult></LaunchInstancesResponse>")
        return self.tokens[token]

    def scaling_activities(self, form):
        group = form["AutoScalingGroupName"]
        self.settle(group)
        start = int(form.get("NextToken", "0"))
        n = int(form.get("MaxRecords", "100"))
        some = self.activities[group][start:start + n]
        more = f"<NextToken>{start + n}</NextToken>" if start + n < len(self.activities[group]) else ""
        items = "".join(
            f"<member><ActivityId>{a['id']}</ActivityId><AutoScalingGroupName>{group}</AutoScalingGroupName>"
            f"<Description>{escape(a['description'])}</Description><Cause>c</Cause><StartTime>{a['at']}</StartTime>"
            f"<StatusCode>{a['status']}</StatusCode><StatusMessage>{escape(a['text'])}</StatusMessage><Progress>100</Progress>"
            f"<Details>{escape(json.dumps({'Subnet ID': 's', 'Availability Zone': a['zone']}))}</Details></member>" for a in some)
        return (f'<DescribeScalingActivitiesResponse xmlns="{NS}"><DescribeScalingActivitiesResult><Activities>{items}</Activities>{more}'
                "</DescribeScalingActivitiesResult></DescribeScalingActivitiesResponse>")

    # ---- answers of moto, mended

    def mend(self, action, form, status, body):
        if action == "DescribeAutoScalingGroups":
            def wanted(m):
                g = re.search(r"<AutoScalingGroupName>([^<]*)<", m.group(0)).group(1)
                return re.sub(r"<DesiredCapacity>\d+<", f"<DesiredCapacity>{self.want[g]}<", m.group(0)) if g in self.want else m.group(0)
            text = body.decode()
            for g in self.want:
                text = re.sub(rf"<AutoScalingGroupName>{re.escape(g)}</AutoScalingGroupName>.*?<DesiredCapacity>\d+<", wanted, text, flags=re.S)
            for i in self.runs.hidden:
                text = re.sub(rf"<member>(?:(?!</?member>).)*<InstanceId>{i}</InstanceId>(?:(?!<member>|</Instances>).)*", "", text, flags=re.S)
            for i in self.retained:
                text = re.sub(rf"<member>((?:(?!</?member>).)*<InstanceId>{i}</InstanceId>(?:(?!</?member>).)*<LifecycleState>)\w+(<)", r"<member>\1Terminating:Retained\2", text, flags=re.S)
                text = re.sub(rf"<member>((?:(?!</?member>).)*<LifecycleState>)\w+(</LifecycleState>(?:(?!</?member>).)*<InstanceId>{i}<)", r"<member>\1Terminating:Retained\2", text, flags=re.S)
            for i, (g, zone, end) in list(self.ending.items()):
                member = (f"<member><InstanceId>{i}</InstanceId><AvailabilityZone>{zone}</AvailabilityZone>"
                          "<LifecycleState>Terminating:Wait</LifecycleState><HealthStatus>Unhealthy</HealthStatus></member>")
                if end < time.time():
                    del self.ending[i]
                    continue
                head = rf"(<AutoScalingGroupName>{re.escape(g)}</AutoScalingGroupName>(?:(?!</Instances>|<Instances/>).)*?)"
                text, n = re.subn(head + "<Instances/>", lambda m: m.group(1) + f"<Instances>{member}</Instances>", text, count=1, flags=re.S)
                if not n:
                    text = re.sub(head + "<Instances>", lambda m: m.group(1) + "<Instances>" + member, text, count=1, flags=re.S)
            return status, text.encode()
        if action.startswith("DescribeNodegroup") and (self.health or self.statuses or self.blocks):
            j = json.loads(body)
            name = j.get("nodegroup", {}).get("nodegroupName")
            if name in self.blocks:
                j["nodegroup"]["capacityType"] = "CAPACITY_BLOCK"
            if name in self.statuses:
                j["nodegroup"]["status"] = self.statuses[name]
            if name in self.health:
                j["nodegroup"]["status"] = "DEGRADED"
                j["nodegroup"]["health"] = {"issues": self.health[name]}
            return status, json.dumps(j).encode()
        return status, body

    # ---- Service Quotas, which moto has for VPC only; judged by AWS's own model

    def service_quota(self, action, params):
        op = botocore.session.Session().get_service_model("service-quotas").operation_model(action)
        report = validate.ParamValidator().validate(params, op.input_shape)
        if report.has_errors():
            raise Refused("IllegalArgumentException", report.generate_report())
        code = params["QuotaCode"]
        if params["ServiceCode"] != "ec2" or code not in self.quotas:
            raise Refused("NoSuchResourceException", "The request failed because the specified service quota does not exist.")
        name, value = self.quotas[code]
        return {"Quota": {"ServiceCode": "ec2", "QuotaCode": code, "QuotaName": name, "Value": value, "Unit": "None", "Adjustable": True}}

    # ---- the gate

    def verify(self, method, target, headers, body):
        low = {k.lower(): v for k, v in headers.items()}
        a = low.get("authorization", "")
        if not a.startswith("AWS4-HMAC-SHA256 "):
            raise Refused("MissingAuthenticationToken", "Request is missing Authentication Token", 403)
        f = dict(x.strip().split("=", 1) for x in a[len("AWS4-HMAC-SHA256 "):].split(","))
        ak, day, region, service, term = f["Credential"].split("/")
        signed = f["SignedHeaders"].split(";")
        if ak not in self.keys:
            raise Refused("InvalidClientTokenId", "The security token included in the request is invalid", 403)
        secret, token, until = (self.keys[ak], None, None) if isinstance(self.keys[ak], str) else self.keys[ak]
        if token != low.get("x-amz-security-token"):
            raise Refused("InvalidClientTokenId", "The session token does not fit", 403)
        if until and until < time.time():
            raise Refused("ExpiredToken", "The security token included in the request is expired", 403)
        need = {"host"} | {k for k in low if k.startswith("x-amz-")} | ({"content-type"} if body else set())
        if term != "aws4_request" or region != REGION or signed != sorted(signed) or not need <= set(signed):
            raise Refused("IncompleteSignature", f"signed {signed}, needed {sorted(need)}, {region}", 403)
        date = low.get("x-amz-date", "")
        at = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if date[:8] != day or abs(time.time() + self.ahead - at.timestamp()) > 300:
            raise Refused("RequestExpired", "Request has expired.", 400)
        r = AWSRequest(method=method, url="http://" + low["host"] + target, data=body, headers={k: low[k] for k in signed})
        r.context["timestamp"] = date
        s = SigV4Auth(Credentials(ak, secret), service, region)
        if s.signature(s.string_to_sign(r, s.canonical_request(r)), r) != f["Signature"]:
            raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match", 403)
        return service

    def fault(self, action, body):
        """The first fault for this request that is due, used up by one."""
        for f in self.faults:
            if f["action"] not in (action, "*") or f.get("times", 1) == 0:
                continue
            if f.get("until", 1e18) < time.time() or f.get("having", "").encode() not in body:
                continue
            if f.get("skip", 0) > 0:
                f["skip"] -= 1
                continue
            if f.get("times", 1) > 0:
                f["times"] = f.get("times", 1) - 1
            return f
        return None

    def learn(self, body):
        """Credentials that moto's STS gave are good here, too."""
        t = body.decode()
        ak, sk, tok = (re.search(rf"<{n}>([^<]*)<", t) for n in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
        if ak and sk and tok:
            self.keys[ak.group(1)] = (sk.group(1), tok.group(1), None)


def error_body(service, e):
    if service == "servicequotas":
        return json.dumps({"__type": e.code, "Message": e.text}).encode(), {"Content-Type": "application/x-amz-json-1.1"}
    if service == "eks":
        return json.dumps({"message": e.text}).encode(), {"Content-Type": "application/json", "x-amzn-ErrorType": e.code}
    if service == "ec2":
        return (f'<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>{e.code}</Code><Message>{escape(e.text)}</Message>'
                "</Error></Errors><RequestID>r</RequestID></Response>").encode(), {"Content-Type": "text/xml"}
    return (f'<ErrorResponse xmlns="{NS}"><Error><Type>Sender</Type><Code>{e.code}</Code><Message>{escape(e.text)}</Message></Error>'
            "<RequestId>r</RequestId></ErrorResponse>").encode(), {"Content-Type": "text/xml"}


CLOUD = None


class Gate(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *a):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + CLOUD.ahead)

    def reply(self, status, body, headers=None, cut=False):
        self.send_response(status)
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError, OSError):
            self.close_connection = True

    def do_any(self):
        n = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(n) if n else b""
        path = urllib.parse.urlsplit(self.path)
        if path.path.startswith("/_test/"):
            return self.control(path.path[7:], json.loads(body or b"{}"))
        if path.path.startswith(("/latest/", "/v1/credentials")):
            return self.agents(path.path)
        if path.path in ("/federation/credentials", "/token"):
            return self.sso(path, json.loads(body or b"{}"))
        pairs = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True) if n else []
        form = dict(pairs)
        target = self.headers.get("X-Amz-Target", "")
        if target:
            pairs, form = [], {}
        action = target.rpartition(".")[2] or form.get("Action") or (
            "DescribeNodegroup" if re.fullmatch(r"/clusters/[^/]+/node-groups/[^/]+", path.path) else self.command + " " + path.path)
        service = "?"
        with CLOUD.lock:
            try:
                if action == "AssumeRoleWithWebIdentity":
                    service = "sts"
                    if self.headers.get("Authorization"):
                        raise Refused("IncompleteSignature", "this is to be unsigned", 403)
                else:
                    service = CLOUD.verify(self.command, self.path, self.headers, body)
            except Refused as e:
                CLOUD.rejected.append((action, e.code, e.text))
                out, h = error_body(service if service != "?" else ("eks" if not form else "autoscaling"), e)
                return self.reply(e.status, out, h)
            f = CLOUD.fault(action, body)
            CLOUD.log.append({"service": service, "action": action, "method": self.command, "path": path.path,
                              "query": urllib.parse.parse_qsl(path.query), "form": pairs, "at": time.time(),
                              "type": self.headers.get("Content-Type"), "target": target, "json": json.loads(body) if target else None, "fault": f and f["kind"]})
            if f and f["kind"] == "reset":
                return self.reset()
            if f and f["kind"] == "error":
                e = Refused(f["code"], f.get("text", "Rate exceeded"), f.get("status", 400))
                out, h = error_body(service, e)
                return self.reply(e.status, out, {**h, **f.get("headers", {})})
            if f and f["kind"] == "raw":
                return self.reply(f["status"], f["body"].encode(), f["headers"])
            if f and f["kind"] == "html":
                return self.reply(f.get("status", 502), b"<html><body>Bad Gateway</body></html>", {"Content-Type": "text/html"})
            try:
                status, out, h = self.answer(service, action, form, body)
            except Refused as e:
                status = e.status
                out, h = error_body(service, e)
        if f and f["kind"] == "delay":
            time.sleep(f["seconds"])  # wait: the reply is late: that is the fault
        if f and f["kind"] == "lost":
            return self.reset()
        self.reply(status, out, h, cut=bool(f and f["kind"] == "cut"))

    def answer(self, service, action, form, body):
        own = {"SetDesiredCapacity": CLOUD.set_desired, "TerminateInstanceInAutoScalingGroup": CLOUD.terminate,
               "DescribeScalingActivities": CLOUD.scaling_activities, "LaunchInstances": CLOUD.launch_instances}
        if action in ("RunInstances", "DescribeInstances", "TerminateInstances"):
            body = CLOUD.runs.before(action, form, body)
        if service == "servicequotas" and CLOUD.quotas is not None:
            return 200, json.dumps(CLOUD.service_quota(action, json.loads(body))).encode(), {"Content-Type": "application/x-amz-json-1.1"}
        if action in own:
            return 200, own[action](form).encode(), {"Content-Type": "text/xml"}
        if action in ("DescribeAutoScalingGroups", "DescribeInstances"):
            for g in list(CLOUD.want):
                CLOUD.settle(g)
        if action == "DescribeInstances" and CLOUD.page:
            body = re.sub(rb"MaxResults=\d+", b"MaxResults=%d" % CLOUD.page, body)
        if CLOUD.frozen is not None and body in CLOUD.frozen:
            return CLOUD.frozen[body]
        headers = dict(self.headers.items())
        if headers.get("Content-Length"):
            headers["Content-Length"] = str(len(body))
        if action == "RunInstances" and CLOUD.runs.known(form):
            status, out, h = 200, CLOUD.runs.known(form), {"Content-Type": "text/xml"}
        else:
            status, out, h = CLOUD.moto.forward(self.command, self.path, headers, body)
        if action in ("RunInstances", "DescribeInstances", "DescribeSubnets", "DescribeInstanceStatus", "DescribeSpotInstanceRequests"):
            status, out = CLOUD.runs.after(action, form, status, out)
        if action.startswith("AssumeRole") and status == 200:
            CLOUD.learn(out)
        if status == 200:
            status, out = CLOUD.mend(action, form, status, out)
        if CLOUD.frozen is not None:
            CLOUD.frozen[body] = (status, out, h)
        return status, out, h

    # ---- metadata service and container agent

    def agents(self, path):
        CLOUD.agent_calls.append((self.command, path, {k.lower(): v for k, v in self.headers.items()}))
        n = len(CLOUD.agent_calls)
        if path == "/latest/api/token":
            if self.command != "PUT" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
                return self.reply(400, b"bad")
            return self.reply(200, b"IMDSTOKEN")
        if path.startswith("/latest/") and self.headers.get("X-aws-ec2-metadata-token") != "IMDSTOKEN":
            return self.reply(401, b"unauthorized")
        if path == "/latest/meta-data/placement/region":
            return self.reply(200, REGION.encode())
        if path == "/latest/meta-data/iam/security-credentials/":
            return self.reply(200, b"node-role")
        if path == "/v1/credentials" and CLOUD.agent_token and self.headers.get("Authorization") != CLOUD.agent_token:
            return self.reply(401, b"no")
        if path in ("/latest/meta-data/iam/security-credentials/node-role", "/v1/credentials"):
            until = time.time() + CLOUD.agent_expires
            ak, sk, tok = f"ASIAAGENT{n:06d}", f"agentsecret{n}", f"agent/token+{n}=="
            CLOUD.keys[ak] = (sk, tok, until)
            return self.reply(200, json.dumps({
                "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": ak, "SecretAccessKey": sk, "Token": tok,
                "Expiration": datetime.datetime.fromtimestamp(until, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }).encode(), {"Content-Type": "application/json"})
        return self.reply(404, b"not found")

    # ---- IAM Identity Center: its portal, and OIDC's tokens

    def sso(self, path, body):
        query = dict(urllib.parse.parse_qsl(path.query))
        CLOUD.agent_calls.append((self.command, self.path, {**{k.lower(): v for k, v in self.headers.items()}, "body": body}))
        if path.path == "/token":
            good = body == {"grantType": "refresh_token", "clientId": "cid", "clientSecret": "csecret", "refreshToken": "rtoken"}
            return self.reply(200 if good else 400, json.dumps(
                {"accessToken": "sso-token-2", "expiresIn": 28800, "refreshToken": "rtoken-2", "tokenType": "Bearer"} if good
                else {"error": "invalid_grant"}).encode(), {"Content-Type": "application/json"})
        if not self.headers.get("x-amz-sso_bearer_token", "").startswith("sso-token"):
            return self.reply(401, b'{"message": "Session token not found or invalid"}', {
                "Content-Type": "application/json", "x-amzn-ErrorType": "UnauthorizedException"})
        if (query.get("role_name"), query.get("account_id")) != ("Scaler+1", "123456789012"):
            return self.reply(403, b'{"message": "No access"}', {"Content-Type": "application/json", "x-amzn-ErrorType": "ForbiddenException"})
        n = len(CLOUD.agent_calls)
        until = time.time() + 3600
        ak, sk, tok = f"ASIASSO{n:06d}", f"agentsecret{n}", f"agent/token+{n}=="
        CLOUD.keys[ak] = (sk, tok, until)
        return self.reply(200, json.dumps({"roleCredentials": {
            "accessKeyId": ak, "secretAccessKey": sk, "sessionToken": tok, "expiration": int(until * 1000)}}).encode(),
            {"Content-Type": "application/json"})

    # ---- control

    def control(self, name, arg):
        with CLOUD.lock:
            try:
                out = getattr(self, "ctl_" + name)(**arg)
            except Exception as e:  # told to the test, not to a log
                return self.reply(500, repr(e).encode())
        self.reply(200, json.dumps(out).encode(), {"Content-Type": "application/json"})

    def ctl_setup(self, cluster, pools):
        return CLOUD.setup(cluster, pools)

    def ctl_clear(self):
        CLOUD.clear()

    def ctl_fault(self, **f):
        """action, kind: error (code, text, status, headers) | reset | lost | cut | delay (seconds) | html; times (-1: always), skip,
        until (wall clock), having (text in the request)"""
        CLOUD.faults.append(f)

    def ctl_shelf(self, zone, left, code="InsufficientInstanceCapacity"):
        """So many bare instances are left in a zone; None: any."""
        CLOUD.runs.shelf[zone] = (left, code)

    def ctl_lag(self, seconds):
        """DescribeInstances shows bare instances so long after their launch."""
        CLOUD.runs.lag = seconds

    def ctl_broken(self, id, code, text):
        """AWS ends an instance itself, for this reason."""
        CLOUD.ec2.terminate_instances(InstanceIds=[id])
        CLOUD.runs.reasons[id] = (code, text)

    def ctl_protect(self, ids):
        """These have termination protection, and no others."""
        CLOUD.runs.protected = set(ids)

    def ctl_untag_list(self, ids):
        """A list by tag does not show these yet."""
        CLOUD.ec2.delete_tags(Resources=ids, Tags=[{"Key": "davit-cluster"}])

    def ctl_hide(self, ids):
        """Lists lack these, and no others; asked for by their ids they are there."""
        CLOUD.runs.hidden = set(ids)

    def ctl_take(self, ids, pool=None):
        """AWS ends spot instances; a group's target is lowered with them."""
        for i in ids if pool else ():
            CLOUD.asg.terminate_instance_in_auto_scaling_group(InstanceId=i, ShouldDecrementDesiredCapacity=True)
            CLOUD.want.pop(CLOUD.pools[pool], None)
        CLOUD.ec2.terminate_instances(InstanceIds=ids)
        for i in ids:
            CLOUD.runs.reasons[i] = ("Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination")

    def ctl_notices(self, of):
        CLOUD.runs.notices = of

    def ctl_events(self, of, impaired=()):
        CLOUD.runs.events, CLOUD.runs.impaired = of, set(impaired)

    def ctl_blocks(self, of):
        """Capacity Blocks: {id: instances left}"""
        CLOUD.runs.blocks = dict(of)

    def ctl_addresses(self, subnet, free):
        """So many addresses are left in a subnet."""
        CLOUD.runs.free[subnet] = free

    def ctl_instances(self):
        """Bare instances that are billed: {id: {zone, type, tags, spot, user_data, ...}}"""
        return CLOUD.runs.billed()

    def ctl_subnets(self):
        """{zone: id}; nothing else is there."""
        CLOUD.moto.forget()
        return {s["AvailabilityZone"]: s["SubnetId"] for s in CLOUD.ec2.describe_subnets()["Subnets"]}

    def ctl_heal(self):
        CLOUD.runs.shelf = {}
        CLOUD.faults, CLOUD.stock, CLOUD.codes, CLOUD.texts, CLOUD.late = [], {}, {}, {}, {}

    def ctl_clock(self, ahead):
        CLOUD.ahead = ahead

    def ctl_stock(self, pool, left=None, code=None, text=None):
        CLOUD.stock[CLOUD.pools[pool]] = left
        CLOUD.texts[CLOUD.pools[pool]] = text
        if code:
            CLOUD.codes[CLOUD.pools[pool]] = code
        else:
            CLOUD.codes.pop(CLOUD.pools[pool], None)

    def ctl_late(self, pool, seconds):
        CLOUD.late[CLOUD.pools[pool]] = seconds

    def ctl_retain(self, ids):
        CLOUD.retained = set(ids)

    def ctl_block(self, pool):
        CLOUD.blocks.add(pool)

    def ctl_linger(self, seconds):
        CLOUD.linger = seconds

    def ctl_freeze(self):
        CLOUD.frozen = {}

    def ctl_service_quotas(self, of):
        CLOUD.quotas = of

    def ctl_page(self, n):
        CLOUD.page = n

    def ctl_health(self, pool, issues):
        CLOUD.health[pool] = issues

    def ctl_status(self, pool, status):
        CLOUD.statuses[pool] = status

    def ctl_suspend(self, pool, processes):
        CLOUD.asg.resume_processes(AutoScalingGroupName=CLOUD.pools[pool])
        if processes:
            CLOUD.asg.suspend_processes(AutoScalingGroupName=CLOUD.pools[pool], ScalingProcesses=processes)

    def ctl_weights(self, pool, weight):
        CLOUD.asg.update_auto_scaling_group(AutoScalingGroupName=CLOUD.pools[pool], MixedInstancesPolicy={"LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateName": f"lt-{pool}-{CLOUD.pools[pool][-6:]}", "Version": "$Latest"},
            "Overrides": [{"InstanceType": "g5.xlarge", "WeightedCapacity": weight}]}})

    def ctl_untag(self, pool):
        """Terraform puts the group's tags back to what it knows."""
        group = CLOUD.pools[pool]
        mine = [{"Key": t["Key"], "ResourceId": group, "ResourceType": "auto-scaling-group"}
                for t in CLOUD.group(group)["Tags"] if t["Key"].startswith("davit-")]
        CLOUD.asg.delete_tags(Tags=mine)
        return len(mine)

    def ctl_agent(self, expires=3600, token=None):
        CLOUD.agent_expires, CLOUD.agent_token = expires, token

    def ctl_by_hand(self, pool, n):
        """Somebody else sets the target."""
        CLOUD.want.pop(CLOUD.pools[pool], None)
        CLOUD.asg.set_desired_capacity(AutoScalingGroupName=CLOUD.pools[pool], DesiredCapacity=n)

    def ctl_see(self, pool):
        g = CLOUD.pools[pool]
        CLOUD.settle(g)
        x = CLOUD.group(g)
        return {"machines": CLOUD.machines(pool), "target": CLOUD.target(pool), "group": g,
                "tags": {t["Key"]: t["Value"] for t in x["Tags"]},
                "protected": [i["InstanceId"] for i in x["Instances"] if i.get("ProtectedFromScaleIn")]}

    def ctl_bought(self):
        """Every instance there ever was."""
        pages = CLOUD.ec2.get_paginator("describe_instances").paginate()
        return [i["InstanceId"] for p in pages for r in p["Reservations"] for i in r["Instances"]]

    def ctl_log(self, since=0):
        return CLOUD.log[since:]

    def ctl_chosen(self):
        return CLOUD.chosen

    def ctl_rejected(self):
        return CLOUD.rejected

    def ctl_agents(self):
        return CLOUD.agent_calls

    do_GET = do_POST = do_PUT = do_DELETE = do_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


def main():
    global CLOUD
    CLOUD = Cloud()
    server = Server(("127.0.0.1", 0), Gate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
