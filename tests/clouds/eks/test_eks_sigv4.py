"""Our signer and XML reader against the official vectors and botocore.

AWS's own 38 are in vectors/; 34 more are in the source package of botocore,
fetched by pip once and kept in the cache.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from eks_rig import BUILD, HERE
from lib.seeds import seed

AK, SK, DATE = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830T123600Z"
BOTOCORE = "1.44.5"


class Tool:
    def __init__(self):
        self.p = subprocess.Popen([str(BUILD / "tests" / "eks_sigv4")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, **j):
        self.p.stdin.write(json.dumps(j) + "\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())


@pytest.fixture(scope="module")
def tool():
    t = Tool()
    yield t
    t.p.stdin.close()
    assert t.p.wait(60) == 0
    t.p.stdout.close()


def read_request(text):
    head, _, body = text.partition("\n\n")
    lines = head.split("\n")
    method, rest = lines[0].split(" ", 1)
    target = rest.rsplit(" ", 1)[0]
    path, _, query = target.partition("?")
    headers = []
    for line in lines[1:]:
        if line[:1] in (" ", "\t"):
            headers[-1][1] += "\n" + line
        elif line:
            headers.append(line.split(":", 1))
    return {"method": method, "path": path, "query": query, "headers": headers, "body": body}


def suite():
    cache = pathlib.Path(os.environ.get("DAVIT_CACHE", pathlib.Path.home() / ".cache" / "davit")) / "botocore-src"
    archive = cache / f"botocore-{BOTOCORE}.tar.gz"
    if not archive.exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-binary", ":all:",
                        "--no-deps", "-d", str(cache), f"botocore=={BOTOCORE}"], check=True, timeout=300)
    cases = {}
    with tarfile.open(archive) as t:
        for m in t:
            got = re.fullmatch(r".*/aws4_testsuite/(?:.*/)?([^/]+)\.(req|creq|sts|authz)", m.name)
            if got and m.isfile():
                cases.setdefault(got.group(1), {})[got.group(2)] = t.extractfile(m).read().decode()
    return {k: v for k, v in cases.items() if len(v) >= 4}


def test_the_vectors_in_botocore(tool):
    cases = suite()
    good = 0
    for name, c in sorted(cases.items()):
        r = read_request(c["req"])
        # In one case the signer is to add a session token that only its result has.
        token = re.search(r"^x-amz-security-token:(.*)$", c["creq"], re.M)
        if token and "token" not in c["req"].lower():
            r["headers"].append(["X-Amz-Security-Token", token.group(1)])
        got = tool(access=AK, secret=SK, region="us-east-1", service="service", date=DATE, **r)
        assert got["creq"] == c["creq"], name
        assert got["sts"] == c["sts"], name
        assert got["authz"] == c["authz"], name
        good += 1
    print(f"{good} vectors")
    assert good == 34, sorted(cases)


AWS = json.loads((HERE / "vectors" / "aws-c-auth.json").read_text())["cases"]


@pytest.mark.parametrize("name", sorted(AWS))
def test_the_vectors_of_aws(tool, name):
    case = AWS[name]
    c = json.loads(case["context.json"])
    r = read_request(case["request.txt"])
    date = c["timestamp"].replace("-", "").replace(":", "")
    r["headers"].append(["X-Amz-Date", date])
    keys = c["credentials"]
    if keys.get("token") and not c.get("omit_session_token"):
        r["headers"].append(["X-Amz-Security-Token", keys["token"]])
    if c.get("sign_body"):
        r["headers"].append(["X-Amz-Content-Sha256", hashlib.sha256(r["body"].encode()).hexdigest()])
    got = tool(access=keys["access_key_id"], secret=keys["secret_access_key"], region=c["region"], service=c["service"],
               date=date, keep_path=not c.get("normalize", True), **r)
    assert got["creq"] == case["header-canonical-request.txt"]
    assert got["sts"] == case["header-string-to-sign.txt"]
    assert got["authz"].endswith("Signature=" + case["header-signature.txt"].strip())


def test_all_of_them():
    assert len(AWS) == 38


def test_random_requests_as_botocore_signs_them(tool):
    rnd = random.Random(seed())
    letters = "abzAZ09-_.~ /+*=&%?#:@,;'\"()!$äß日🙂"
    from urllib.parse import quote
    for _ in range(500):
        word = lambda n: "".join(rnd.choice(letters) for _ in range(rnd.randint(0, n)))  # noqa: E731
        path = "/" + "/".join(quote(word(8), safe="") for _ in range(rnd.randint(0, 4)))
        query = "&".join(f"{quote(word(6), safe='')}={quote(word(6), safe='')}" for _ in range(rnd.randint(0, 5)))
        body = word(40)
        headers = {"host": "127.0.0.1:5566", "x-amz-date": DATE, "content-type": " text/plain;  charset=utf-8 ",
                   "x-amz-" + rnd.choice(["a", "b", "c"]): word(10).strip() or "v"}
        if re.search(r"/\.{1,2}(/|$)", path) or path.endswith(".") or "//" in path:
            continue
        r = AWSRequest(method="POST", url="http://127.0.0.1:5566" + path + ("?" + query if query else ""), data=body.encode(), headers=headers)
        r.context["timestamp"] = DATE
        s = SigV4Auth(Credentials(AK, SK), "eks", "us-east-1")
        want = s.canonical_request(r)
        got = tool(access=AK, secret=SK, region="us-east-1", service="eks", date=DATE, method="POST", path=path, query=query,
                   headers=[[k, v] for k, v in headers.items()], body=body)
        assert got["creq"] == want
        assert got["authz"].endswith("Signature=" + s.signature(s.string_to_sign(r, want), r))


def test_xml(tool):
    x = lambda t: tool(xml=t)  # noqa: E731
    assert x("<a><b>1</b><c/><b> 2&lt;&amp; </b></a>")["tree"] == ["a", "", [["b", "1", []], ["c", "", []], ["b", " 2<& ", []]]]
    assert x("<n:a xmlns:n='u'>\n <n:b>ü</n:b>\n</n:a>")["tree"] == ["a", "", [["b", "ü", []]]]
    assert x("<a><![CDATA[<b>]]></a>")["tree"] == ["a", "<b>", []]
    for bad in ("", "<a>", "<a></b>", "{}", "<a/><b/>", "<!DOCTYPE a><a/>",
                "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<a>" * 70 + "</a>" * 70):
        assert x(bad).get("error"), bad


def test_random_xml_is_read_as_python_reads_it(tool):
    import xml.etree.ElementTree as ET
    rnd = random.Random(seed())

    def make(depth):
        e = ET.Element(rnd.choice("abcdef") * rnd.randint(1, 30))
        if depth and rnd.random() < 0.7:
            for _ in range(rnd.randint(0, 5)):
                e.append(make(depth - 1))
        if len(e) == 0 and rnd.random() < 0.7:
            e.text = "".join(rnd.choice("xyz <>&\"'äß日\n") for _ in range(rnd.randint(1, 2000 if rnd.random() < 0.02 else 20)))
        return e

    def plain(e):
        return [e.tag, (e.text or "") if len(e) == 0 else "", [plain(c) for c in e]]

    def pruned(tree, name):
        return [tree[0], tree[1], [pruned(c, name) for c in tree[2] if c[0] != name]]
    for _ in range(100):
        e = make(5)
        text = ET.tostring(e, encoding="unicode")
        assert tool(xml=text)["tree"] == plain(ET.fromstring(text))
        name = rnd.choice([x.tag for x in e.iter()])
        if e.tag != name:  # the same, that name left out wherever it is
            assert tool(xml=text, without=name)["tree"] == pruned(plain(e), name), name
        cut = text[:rnd.randrange(len(text))]
        if len(cut) > 1:
            assert tool(xml=cut).get("error"), cut
