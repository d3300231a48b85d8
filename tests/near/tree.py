"""What a tree of sources says of itself: who includes a header, who imports a module, which tests stand at a line."""
import ast
import functools
import glob
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
PATHS = ("tests", "tests/clouds/eks", "tests/clouds/gke", "tests/clouds/aks")  # of pytest.ini


def tests_at(path, pieces):
    """Names of the test functions of a Python file in which changed lines stand."""
    with open(path) as f:
        module = ast.parse(f.read())
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if any(a <= node.end_lineno and b >= first for a, b in pieces):
                found.append(node.name)
    return found


class Headers:
    """Who includes what, directly and by way of other headers."""

    def __init__(self, root):
        self.root, self.users = root, {}
        for top in ("autoscaler", "providers", "tests"):
            for path in glob.glob(os.path.join(root, top, "**/*.[ch]"), recursive=True):
                name = os.path.relpath(path, root)
                with open(path, errors="replace") as f:
                    for header in INCLUDE.findall(f.read()):
                        self.users.setdefault(self.resolve(name, header), set()).add(name)

    def resolve(self, user, header):
        for folder in (os.path.dirname(user), "autoscaler", "autoscaler/kit", "tests", "tests/contract"):
            path = os.path.normpath(os.path.join(folder, header))
            if os.path.isfile(os.path.join(self.root, path)):
                return path
        return header

    @functools.lru_cache(None)
    def all_users(self, path):
        found, new = set(), {path}
        while new:
            found |= new
            new = {u for p in new for u in self.users.get(p, ())} - found
        return found

    def sources_of(self, path):
        """[(file, weight)]: itself, and of a header the sources that include it; its own source counts in full."""
        if not path.endswith(".h"):
            return [(path, 1.0)]
        users = {u for u in self.all_users(path) if u.endswith(".c") and not u.startswith("tests/")}
        return [(u, 1.0 if u[:-2] == path[:-2] else 1 / (1 + len(users) / 4)) for u in users]

    def unit_tests_of(self, path):
        """Unit tests that include the header of this file themselves."""
        header = path[:-2] + ".h" if path.endswith(".c") else path
        return sorted(u for u in self.users.get(header, ()) if re.fullmatch(r"tests/unit/test_\w+\.c", u))


class Imports:
    """Which test files import a Python file of the tree, directly and by way of others; conftest.py counts for its folder."""

    def __init__(self, root):
        self.root, self.users = root, {}
        for path in glob.glob(os.path.join(root, "tests/**/*.py"), recursive=True):
            name = os.path.relpath(path, root)
            for used in self.imported(name):
                self.users.setdefault(used, set()).add(name)

    def imported(self, name):
        with open(os.path.join(self.root, name), errors="replace") as f:
            try:
                module = ast.parse(f.read())
            except SyntaxError:
                return set()
        names = set()
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                names |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
        return {path for n in names for path in self.files_of(n, os.path.dirname(name))}

    def files_of(self, module, folder):
        for base in (folder, *PATHS):
            path = os.path.join(base, module.replace(".", "/"))
            for found in (path + ".py", path + "/__init__.py"):
                if os.path.isfile(os.path.join(self.root, found)):
                    return [os.path.normpath(found)]
        return []

    def users_of(self, path):
        if not path.endswith(".py"):
            return []
        found, new = set(), {path}
        while new:
            found |= new
            new = {u for p in new for u in self.users.get(p, ())} - found
            for p in list(new | {path}):
                if os.path.basename(p) == "conftest.py":
                    new |= {os.path.relpath(t, self.root) for t in
                            glob.glob(os.path.join(self.root, os.path.dirname(p), "**/test_*.py"), recursive=True)} - found
        return sorted(u for u in found if re.fullmatch(r"test_\w+\.py", os.path.basename(u)))
