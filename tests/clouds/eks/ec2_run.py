"""RunInstances as EC2 has it, where moto is simpler: one answer for a
ClientToken, stock by zone, instances that a list does not show yet, instances
that AWS itself ended."""
import base64
import re
import time
import xml.etree.ElementTree as ET

SIGNED = ("X-Amz-", "Signature")


class Runs:
    def __init__(self, cloud):
        self.cloud = cloud
        self.answers = {}   # token -> (parameters, reply)
        self.shelf = {}     # zone -> (left, code)
        self.born = {}      # id -> time
        self.lag = 0
        self.reasons = {}   # id -> (code, text)
        self.protected = set()  # ids
        self.free = {}      # subnet -> addresses left, as DescribeSubnets tells
        self.hidden = set() # ids that lists lack, though they are there
        self.events = {}    # id -> (code, description, notBefore), as DescribeInstanceStatus has it
        self.impaired = set()  # ids whose host fails AWS's check
        self.notices = {}   # id -> when its spot request was marked for termination
        self.blocks = {}    # capacity block -> instances left

    @staticmethod
    def parameters(form):
        return sorted((k, v) for k, v in form.items() if not k.startswith(SIGNED))

    def zone_of(self, form):
        if "SubnetId" in form:
            return self.cloud.ec2.describe_subnets(SubnetIds=[form["SubnetId"]])["Subnets"][0]["AvailabilityZone"]
        return form.get("Placement.AvailabilityZone", "us-east-1a")

    def known(self, form):
        return self.answers.get(form.get("ClientToken"), (None, None))[1]

    def before(self, action, form, body):
        from __main__ import Refused
        if action == "TerminateInstances":
            self.protect(form)
        if action != "RunInstances":
            return body
        self.market(form)
        if "UserData" in form:
            try:
                base64.b64decode(form["UserData"], validate=True)
            except ValueError:
                raise Refused("InvalidParameterValue", "Invalid BASE64 encoding of user data.")
        token = form.get("ClientToken")
        if token in self.answers:
            if self.answers[token][0] != self.parameters(form):
                raise Refused("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
            return body
        left, code = self.shelf.get(self.zone_of(form)) or (None, None)
        most = int(form["MaxCount"])
        if left is None:
            left = most
        if left < int(form["MinCount"]):
            raise Refused(code, "We currently do not have sufficient capacity in the Availability Zone you requested", 500)
        n = min(left, most)
        block = form.get("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
        if block in self.blocks:
            n = min(n, self.blocks[block])
            self.blocks[block] -= n
        if self.zone_of(form) in self.shelf:
            self.shelf[self.zone_of(form)] = (left - n, code)
        for kind in (b"capacity-block", b"interruptible-capacity-reservation"):  # moto knows spot alone
            body = body.replace(b"InstanceMarketOptions.MarketType=" + kind + b"&", b"")
        return re.sub(rb"MinCount=\d+", b"MinCount=%d" % n, body)  # moto starts the least

    def protect(self, form):
        """One protected instance keeps those of its zone that are named with it; those of other zones end
        (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html; jenkinsci/ec2-fleet-plugin#327)."""
        from __main__ import Refused
        ids = [v for k, v in form.items() if k.startswith("InstanceId.")]
        held = [i for i in ids if i in self.protected]
        if not held:
            return
        zones = {i: v["zone"] for i, v in self.billed().items()}
        free = [i for i in ids if zones.get(i) not in {zones[h] for h in held} and i in zones]
        if free:
            self.cloud.ec2.terminate_instances(InstanceIds=free)
        raise Refused("OperationNotPermitted", f"The instance '{held[0]}' may not be terminated. Modify its "
                      "'disableApiTermination' instance attribute and try again.")

    def market(self, form):
        """A capacity block is for MarketType capacity-block alone, and no more than it has (botocore's MarketType; eksctl-io/eksctl#8207)."""
        from __main__ import Refused
        kind = form.get("InstanceMarketOptions.MarketType")
        block = form.get("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
        if block in self.blocks and kind != "capacity-block":
            raise Refused("InvalidParameterCombination", f"The capacity reservation {block} is a Capacity Block: the market type must be capacity-block.")
        if kind == "capacity-block" and block not in self.blocks:
            raise Refused("InvalidParameterValue", "capacity-block needs the id of a Capacity Block.")
        if block in self.blocks and self.blocks[block] < int(form["MinCount"]):
            raise Refused("ReservationCapacityExceeded", f"The requested reservation {block} does not have sufficient compatible and available capacity.")

    def after(self, action, form, status, out):
        if status != 200:
            return status, out
        if action == "DescribeSubnets":
            text = out.decode()
            for subnet, free in self.free.items():
                inside = "(?:(?!</?item>).)*"
                text = re.sub(rf"<availableIpAddressCount>\d+(</availableIpAddressCount>{inside}<subnetId>{subnet}<)", rf"<availableIpAddressCount>{free}\1", text, flags=re.S)
                text = re.sub(rf"(<subnetId>{subnet}<{inside}<availableIpAddressCount>)\d+", rf"\g<1>{free}", text, flags=re.S)
            return status, text.encode()
        if action == "RunInstances":
            self.answers[form.get("ClientToken")] = (self.parameters(form), out)
            for i in re.findall(rb"<instanceId>([^<]*)<", out):
                self.born.setdefault(i.decode(), time.time())
            return status, out
        if action == "DescribeInstanceStatus":
            return status, self.statuses(form).encode()
        if action == "DescribeSpotInstanceRequests":
            return 200, self.requests(form).encode()
        text = out.decode()
        if self.hidden and "InstanceId.1" not in form:
            text = self.shown(text)
        if self.lag:
            def shown(m):
                i = re.search(r"<instanceId>([^<]*)<", m.group(0))
                return "" if i and time.time() - self.born.get(i.group(1), 0) < self.lag else m.group(0)
            text = re.sub(r"<item>\s*<reservationId>.*?</reservationId>.*?</instancesSet>.*?</item>", shown, text, flags=re.S)
        for i, (code, why) in self.reasons.items():
            apart = "(?:(?!<stateReason>).)*"
            text = re.sub(rf"<stateReason>{apart}</stateReason>({apart}<instanceId>{i}</instanceId>)",
                          rf"<stateReason><code>{code}</code><message>{why}</message></stateReason>\g<1>", text, flags=re.S)
        return status, text.encode()

    def shown(self, text):
        """A list without those that are hidden."""
        ns = re.search(r'xmlns="([^"]*)"', text).group(1)
        ET.register_namespace("", ns)
        root = ET.fromstring(text)
        for of in root.iter(f"{{{ns}}}instancesSet"):
            for i in [i for i in of if i.findtext(f"{{{ns}}}instanceId") in self.hidden]:
                of.remove(i)
        return ET.tostring(root, encoding="unicode")

    def statuses(self, form):
        """DescribeInstanceStatus by the filters that are used here (botocore's model has the shape)."""
        name = form["Filter.1.Name"]
        values = {v for k, v in form.items() if k.startswith("Filter.1.Value.")}
        items = ""
        for i in sorted(self.billed()):
            code, text, at = self.events.get(i, ("", "", ""))
            bad = i in self.impaired
            if (name == "event.code" and code not in values) or (name == "system-status.status" and not (bad and "impaired" in values)):
                continue
            event = code and f"<eventsSet><item><code>{code}</code><description>{text}</description><notBefore>{at}</notBefore></item></eventsSet>"
            items += (f"<item><instanceId>{i}</instanceId><instanceState><code>16</code><name>running</name></instanceState>{event}"
                      f"<systemStatus><status>{'impaired' if bad else 'ok'}</status></systemStatus></item>")
        return ('<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>'
                f"<instanceStatusSet>{items}</instanceStatusSet></DescribeInstanceStatusResponse>")

    def requests(self, form):
        """DescribeSpotInstanceRequests by status code (botocore's model has the shape)."""
        assert form["Filter.1.Name"] == "status-code"
        values = {v for k, v in form.items() if k.startswith("Filter.1.Value.")}
        billed = self.billed()
        items = "".join(
            f"<item><spotInstanceRequestId>sir-{i[2:10]}</spotInstanceRequestId><state>active</state><status><code>marked-for-termination</code>"
            f"<updateTime>{at}</updateTime><message>Your Spot instance is marked for termination.</message></status><instanceId>{i}</instanceId></item>"
            for i, at in sorted(self.notices.items()) if i in billed and billed[i]["spot"] and "marked-for-termination" in values)
        return ('<DescribeSpotInstanceRequestsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>'
                f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet></DescribeSpotInstanceRequestsResponse>")

    def billed(self):
        got = {}
        for page in self.cloud.ec2.get_paginator("describe_instances").paginate():
            for r in page["Reservations"]:
                for i in r["Instances"]:
                    if i["State"]["Name"] not in ("terminated", "shutting-down"):
                        a = self.cloud.ec2.describe_instance_attribute(InstanceId=i["InstanceId"], Attribute="userData")
                        got[i["InstanceId"]] = {
                            "zone": i["Placement"]["AvailabilityZone"], "type": i["InstanceType"], "subnet": i.get("SubnetId"),
                            "image": i["ImageId"], "key": i.get("KeyName"), "address": i.get("PrivateIpAddress"),
                            "groups": [g["GroupId"] for g in i.get("SecurityGroups", [])],
                            "spot": i.get("InstanceLifecycle") == "spot", "user_data": a["UserData"].get("Value"),
                            "tags": {t["Key"]: t["Value"] for t in i.get("Tags", [])}}
        return got
