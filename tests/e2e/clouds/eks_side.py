"""EKS: moto behind the gate that checks every signature (tests/clouds/eks)."""
import time

from side import Side

import eks_rig

READS = ("Describe", "List", "Get")


class Eks(Side):
    name = "eks"
    zones = ("us-east-1a", "us-east-1b")
    secrets = (eks_rig.SK,)
    cloud = None       # one process for all tests: moto takes seconds to start

    def __enter__(self):
        Eks.cloud = Eks.cloud or eks_rig.Cloud()
        t4 = {"type": "g4dn.xlarge", "max": 1200}
        self.cloud.fresh(cpu={"type": "m5.2xlarge"}, t4_a=t4, t4_b={**t4, "zones": [self.zones[1]]})
        self.key = {"cpu": "cpu", self.zones[0]: "t4_a", self.zones[1]: "t4_b"}
        return self

    def __exit__(self, *_):
        pass

    @classmethod
    def close(cls):
        if cls.cloud:
            cls.cloud.stop()

    def words(self):
        c = self.cloud
        return (f'eks: {{region: us-east-1, cluster: {c.cluster}, endpoint: "{c.url}"}}',
                f"provider: eks, pool: {c.names['cpu']}, machine: m5.2xlarge",
                f"provider: eks, machine: g4dn.xlarge, options: {{pools: {{us-east-1a: {c.names['t4_a']}, us-east-1b: {c.names['t4_b']}}}}}")

    def environment(self, tmp):
        return eks_rig.environment(tmp)

    def held(self, pool):
        return set(self.cloud.at(self.key[pool])["machines"])

    def target(self, pool):
        return self.cloud.at(self.key[pool])["target"]

    def bought(self):
        return len(self.cloud.bought())

    def group(self, zone):
        return self.cloud.at(self.key[zone])["group"]

    def raised(self, zone):
        group = self.group(zone)
        return sum(1 for x in self.cloud.log() if x["action"] == "SetDesiredCapacity" and ["AutoScalingGroupName", group] in x["form"])

    def ended(self):
        return {v for x in self.cloud.log() if x["action"].startswith("TerminateInstance")
                for k, v in x["form"] if k.startswith("InstanceId")}

    def chosen_by_cloud(self):
        """A target below what lives makes the group choose."""
        return self.cloud.chosen()

    def rejected(self):
        return self.cloud.rejected()

    def sold_out(self, *zones):
        for z in self.zones:
            self.cloud.stock(pool=self.cloud.names[self.key[z]], left=0 if z in zones else None)

    def takes(self, seconds):
        for k in self.cloud.names:
            self.cloud.late(pool=self.cloud.names[k], seconds=seconds)

    def lose_raise(self, zone):
        self.cloud.fault(action="SetDesiredCapacity", kind="lost", having=self.group(zone), times=2)

    def lose_end(self):
        self.cloud.fault(action="TerminateInstanceInAutoScalingGroup", kind="lost", times=2)

    def storm(self, seconds):
        self.cloud.fault(action="*", kind="error", code="Throttling", times=-1, until=time.time() + seconds)

    def heal(self):
        self.cloud.heal()

    def fill(self, n):
        self.cloud.by_hand(pool=self.cloud.names["t4_b"], n=n)

    def calls(self):
        return [(x["at"], f"{x['service']} {'read' if x['action'].startswith(READS) else 'write'} {x['action']}")
                for x in self.cloud.log()]

    def limit(self, kind):
        """EC2's, of each action; Auto Scaling and EKS publish none and are held to the same."""
        return (50, 5) if self.is_write(kind) else (100, 20)
