"""Runs a model by SPIN: every state that can be reached is visited, or it has failed."""
import collections
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY_MB = 3500
DEPTH = 100000

Outcome = collections.namedtuple("Outcome", "law states text")


def run(folder, model, flags="", ltl=None, switches=()):
    """flags: the model's, that are true; ltl: the name of a property, which is held with weak fairness.
    law: that of a false assertion, the name of a property that has a counterexample, None where all holds."""
    for name in os.listdir(HERE):
        if name.endswith(".pml"):
            shutil.copy(os.path.join(HERE, name), folder)
    defines = [f"-D{f}=true" for f in flags.split()] + [f"-D{s}" for s in switches]
    told(folder, ["spin", *defines, "-a", f"{model}.pml"])
    # Not optimized: that takes longer than most runs.  The reduction keeps a property only where it ignores order.
    how = ["-DNOREDUCE", "-DNFAIR=3"] if ltl else ["-DSAFETY", "-DNOCLAIM", "-DNOREDUCE"]
    told(folder, ["cc", "-O0", "-w", *how, f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"])
    text = told(folder, ["./pan", f"-m{DEPTH}", *(["-a", "-f", "-N", ltl] if ltl else [])])
    states = int(float(re.search(r"(\S+) states, stored", text).group(1)))
    errors = int(re.search(r"errors: (\d+)", text).group(1))
    if errors == 0:
        assert "not completed" not in text and "max search depth too small" not in text and "reached -D" not in text, text
        return Outcome(None, states, text)
    law = re.search(r"assertion violated .*\|\|\((\d)==0\)\)", text)
    if not law and not (ltl and "acceptance cycle" in text):
        raise AssertionError(text)
    return Outcome(int(law.group(1)) if law else ltl, states, text)


def told(folder, command):
    p = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert p.returncode == 0 and "Error:" not in p.stdout, f"{' '.join(command)}\n{p.stdout[-3000:]}{p.stderr[-3000:]}"
    return p.stdout
