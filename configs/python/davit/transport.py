"""One HTTP request at a time to the daemon: TCP, TLS or its Unix socket."""
import http.client
import json
import os
import socket
import ssl
import urllib.parse
from typing import Any, Dict, List, Optional, Type

from .errors import Busy, DavitError, Denied, Failed, Invalid, NotFound, Unreachable

LARGEST = 256 << 20  # bytes of a reply; more is no answer of Davit's


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Transport:
    """The connection is kept; one that went while it was idle is made again."""

    def __init__(self, url: str, token: Optional[str], token_file: Optional[str], ca: Optional[str], cert: Optional[str],
                 key: Optional[str], timeout: float) -> None:
        self.url, self.token, self.token_file, self.timeout = url, token, token_file, timeout
        self.tls: Optional[ssl.SSLContext] = None
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https", "unix"):
            raise ValueError(f"{url}: must begin with http://, https:// or unix:")
        if parts.scheme == "https":
            self.tls = ssl.create_default_context(cafile=ca)
            if cert:
                self.tls.load_cert_chain(cert, key)
        self.parts, self.connection = parts, None  # type: urllib.parse.SplitResult, Optional[http.client.HTTPConnection]

    def connect(self) -> http.client.HTTPConnection:
        if self.parts.scheme == "unix":
            return UnixConnection(self.url[len("unix:"):], self.timeout)
        host = self.parts.hostname or "127.0.0.1"
        if self.tls:
            return http.client.HTTPSConnection(host, self.parts.port or 443, timeout=self.timeout, context=self.tls)
        return http.client.HTTPConnection(host, self.parts.port or 80, timeout=self.timeout)

    def headers(self, body: bool) -> Dict[str, str]:
        token = self.token
        if not token and self.token_file:
            with open(self.token_file, encoding="utf-8") as f:  # each time: it may be rotated
                token = f.read().strip()
        return {**({"Authorization": f"Bearer {token}"} if token else {}), **({"Content-Type": "application/json"} if body else {}),
                "User-Agent": "davit-python"}

    def call(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        """The JSON of the reply; a DavitError otherwise.  A call is repeated only
        where the connection had been idle: none of them does harm twice."""
        text = None if body is None else json.dumps(body).encode()
        while True:
            kept, self.connection = self.connection, None
            connection = kept or self.connect()
            try:
                connection.request(method, path, text, self.headers(body is not None))
                response = connection.getresponse()
                reply = response.read(LARGEST + 1)
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                if kept and isinstance(e, (ConnectionError, http.client.RemoteDisconnected)):
                    continue
                raise Unreachable(f"{self.url}: {e or type(e).__name__}") from e
            if response.will_close:
                connection.close()
            else:
                self.connection = connection
            return answer(response, reply)

    def close(self) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None


def answer(response: http.client.HTTPResponse, reply: bytes) -> Any:
    try:
        value = json.loads(reply)
    except ValueError:
        value = None
    if response.status < 300 and value is not None and len(reply) <= LARGEST:
        return value
    raise error_of(response, value)


def error_of(response: http.client.HTTPResponse, value: Any) -> DavitError:
    kinds: Dict[int, Type[DavitError]] = {400: Invalid, 413: Invalid, 415: Invalid, 401: Denied, 403: Denied, 404: NotFound,
                                          429: Busy, 503: Busy}
    said = value.get("error") if isinstance(value, dict) else None
    if not isinstance(said, dict):
        return Failed(f"HTTP {response.status} and no answer of Davit's")
    allowed: List[str] = said.get("allowed", [])
    e = kinds.get(response.status, Failed)(str(said.get("text", "")), str(said.get("status", "")), str(said.get("where", "")), allowed)
    after = response.getheader("Retry-After", "")
    if isinstance(e, Busy) and after and after.isdigit():
        e.retry_after = float(after)
    return e


def from_environment(name: str, given: Optional[str]) -> Optional[str]:
    return given if given is not None else os.environ.get(name) or None
