"""Journals that somebody else made: what is opened is of our schema, and nothing else."""
import contextlib
import http.client
import random
import re
import sqlite3
import subprocess

import pytest

from lib import DAVIT
from lib.seeds import seed


def remade(table, columns):
    return f"DROP TABLE {table}; CREATE TABLE {table}({columns})"


BROUGHT = {
    "a view": "ALTER TABLE request RENAME TO r; CREATE VIEW request AS SELECT * FROM r",
    "a trigger that brings back": "CREATE TRIGGER t AFTER DELETE ON request BEGIN INSERT INTO request VALUES('ghost', OLD.body, 1, 0); END",
    "a trigger without an end": "CREATE TRIGGER t AFTER INSERT ON event BEGIN INSERT INTO value SELECT 'x', count(*) FROM "
                                "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c); END",
    "an index": "CREATE INDEX i ON request(created_ms)",
    "a table of a module": "CREATE VIRTUAL TABLE more USING fts5(x)",
    "a check": "CREATE TABLE w(key TEXT PRIMARY KEY, value TEXT NOT NULL CHECK(length(value) >= 0)); INSERT INTO w SELECT * FROM value; "
               "DROP TABLE value; ALTER TABLE w RENAME TO value",
    "a computed default": "CREATE TABLE w(key TEXT PRIMARY KEY, value TEXT NOT NULL DEFAULT (1 + 1)); INSERT INTO w SELECT * FROM value; "
                          "DROP TABLE value; ALTER TABLE w RENAME TO value",
    "a computed column": "ALTER TABLE machine ADD moon TEXT AS (id || id)",
    "a row that takes another's place": remade("request", "owner TEXT PRIMARY KEY, body TEXT NOT NULL, created_ms INTEGER NOT NULL, "
                                               "expires_ms INTEGER NOT NULL UNIQUE ON CONFLICT REPLACE"),
    "a row that is left out": remade("request", "owner TEXT PRIMARY KEY, body TEXT NOT NULL ON CONFLICT IGNORE, created_ms INTEGER NOT NULL, "
                                     "expires_ms INTEGER NOT NULL, UNIQUE(expires_ms) ON CONFLICT IGNORE"),
    "a key by another order": remade("request", "owner TEXT PRIMARY KEY COLLATE NOCASE, body TEXT NOT NULL, created_ms INTEGER NOT NULL, "
                                     "expires_ms INTEGER NOT NULL"),
    "a key that is none": remade("request", 'owner TEXT "PRIMARY" "KEY", body TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL'),
    "a table of another kind": remade("value", "key TEXT PRIMARY KEY, value TEXT NOT NULL") + " WITHOUT ROWID",
    "a column more where 0.1 counts them": "ALTER TABLE request ADD more TEXT",
    "a column of machines that goes with others": "ALTER TABLE machine ADD boss TEXT REFERENCES machine(id) ON DELETE CASCADE",
    "what the planner of SQLite believes": "ANALYZE",
    "a table in the place of a function": "CREATE TABLE json_each(value)",
    "a note": "ALTER TABLE machine ADD moon TEXT /* ours */",
}


@pytest.mark.parametrize("what", BROUGHT)
def test_a_strangers_journal(daemon_of, what):
    """What its schema brings along in the place of a table is not run: not to look at it, not to restore it, not to go on with it."""
    d = daemon_of()
    d.start(wait="/readyz")
    d.post({"owner": "x", "num_cpus": 1})
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        db.executescript(BROUGHT[what])
    other = d.dir / "other.db"
    for args in (["check", d.dir / "davit.db"], ["export", d.dir / "davit.db"], ["backup", "--journal", d.dir / "davit.db", d.dir / "new.db"],
                 ["restore", "--journal", other, d.dir / "davit.db"]):
        p = subprocess.run([DAVIT, "journal", *args], capture_output=True, text=True, timeout=60, cwd=d.dir)
        assert p.returncode != 0 and "Davit makes" in p.stdout + p.stderr, (args, p)
    assert not other.exists() or other.stat().st_size == 0
    d.start(wait=None)
    assert d.p.wait(60) != 0 and "Davit makes" in d.text()


def test_a_table_of_a_later_version(daemon_of):
    """Nothing but a table: it is left alone."""
    d = daemon_of()
    d.start(wait="/readyz")
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        db.executescript("CREATE TABLE moons(id TEXT PRIMARY KEY, n INTEGER); INSERT INTO moons VALUES('a', 1)")
    d.start(wait="/readyz")
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        assert db.execute("SELECT * FROM moons").fetchall() == [("a", 1)]


def test_names_of_events_in_a_stream(daemon_of):
    """A journal of a stranger writes no lines of its own into a stream, nor anything for a terminal."""
    d = daemon_of()
    d.start(wait="/readyz")
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        last, = db.execute("SELECT max(id) FROM event").fetchone()
        db.execute("INSERT INTO event VALUES(?, 1, ?, 's', '', 't', '')", (last + 1, "a\n\nevent: node.ready\ndata: {}\x1b[2J"))
        db.commit()
    d.start(wait="/readyz")
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=30)
    c.request("GET", f"/v1/events?after={last}")
    r = c.getresponse()
    lines = [r.readline() for _ in range(8)]
    c.close()
    assert not any(b"\x1b" in x for x in lines), lines
    assert [x for x in lines if x.startswith(b"event: ")][0].startswith(b"event: a?"), lines
    assert not any(x.strip() == b"event: node.ready" for x in lines[:4]), lines


# ---- rows that are no rows of ours

ROWS = {
    "a key that is no text": "INSERT INTO request VALUES(CAST('x' AS BLOB), '{\"bundles\":[{\"resources\":{\"CPU\":1}}]}', 1, 0)",
    "a key with an end in it": "INSERT INTO request VALUES('x' || char(0) || 'y', '{\"bundles\":[{\"resources\":{\"CPU\":1}}]}', 1, 0)",
    "a key that is nothing": "INSERT INTO boot VALUES(NULL, 1, 1)",
    "the last number of all": "INSERT INTO event VALUES(9223372036854775807, 1, 'k', 's', '', 't', '')",
}


@pytest.mark.parametrize("what", ROWS)
def test_a_row_that_is_none_of_ours(daemon_of, what):
    """Two rows that read as one owner's: the second would come back after each clearing."""
    d = daemon_of()
    d.start(wait="/readyz")
    d.post({"owner": "x", "num_cpus": 1})
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        db.executescript(ROWS[what])
    for args in (["check", d.dir / "davit.db"], ["restore", "--journal", d.dir / "other.db", d.dir / "davit.db"]):
        p = subprocess.run([DAVIT, "journal", *args], capture_output=True, text=True, timeout=60, cwd=d.dir)
        assert p.returncode != 0 and "Davit writes none" in p.stdout + p.stderr, (args, p)
    d.start(wait=None)
    assert d.p.wait(60) != 0 and "Davit writes none" in d.text()


def made_anew(path, tables, encoding="UTF-8"):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA encoding='{encoding}'; {'; '.join(tables)}; PRAGMA application_id={0x44415654}; PRAGMA user_version=2")


def tables_of(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [sql for sql, in db.execute("SELECT sql FROM sqlite_schema WHERE type = 'table'")]


def check(path):
    return subprocess.run([DAVIT, "journal", "check", path], capture_output=True, text=True, timeout=60, cwd=path.parent)


def test_an_index_that_hides_a_row(daemon_of):
    """What DELETE looks up is the index, what is read at the start is the table."""
    d = daemon_of()
    d.start(wait="/readyz")
    d.post({"owner": "x", "num_cpus": 1})
    assert d.stop() == 0
    path = d.dir / "davit.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        root, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_request_1'").fetchone()
        size, = db.execute("PRAGMA page_size").fetchone()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page = bytearray(path.read_bytes())
    at = (root - 1) * size
    page[at + 3:at + 5] = b"\0\0"         # no cells
    page[at + 5:at + 7] = size.to_bytes(2, "big")
    page[at + 1:at + 3] = page[at + 7:at + 8] + b"\0"
    page[at + 7] = 0
    path.write_bytes(page)
    p = check(path)
    assert p.returncode != 0 and "missing from index" in p.stdout + p.stderr, p
    p = subprocess.run([DAVIT, "journal", "restore", "--journal", d.dir / "other.db", path], capture_output=True, text=True, timeout=60)
    assert p.returncode != 0 and "damaged" in p.stderr, p
    d.start(wait=None)
    assert d.p.wait(60) == 3 and "damaged" in d.text()


CLAUSES = ["ON CONFLICT REPLACE", "ON CONFLICT IGNORE", "UNIQUE", "UNIQUE ON CONFLICT REPLACE", "COLLATE NOCASE", "COLLATE RTRIM", "CHECK(1)", "CHECK(length(1) > 2)",
           "NOT NULL", "NULL", "PRIMARY KEY", "DEFAULT 7", "DEFAULT (7)", "DEFAULT CURRENT_TIMESTAMP", "DESC", "AUTOINCREMENT", "REFERENCES value(key)",
           "ON DELETE CASCADE", "GENERATED ALWAYS AS (1)", "AS (1) STORED", "STRICT", "WITHOUT ROWID", "TEXT", "BLOB", "INTEGER", "INT", '"TEXT"', "[TEXT]", "`TEXT`", "'TEXT'",
           '"PRIMARY" "KEY"', "x TEXT", ", x TEXT", ", x TEXT NOT NULL", ", x TEXT NOT NULL DEFAULT ''", ", UNIQUE(owner) ON CONFLICT REPLACE", ", CHECK(1)", "/**/", "--\n"]
WRITES = ["INSERT INTO request(owner, body, created_ms, expires_ms) VALUES(?, ?, ?, ?) ON CONFLICT(owner) DO UPDATE SET body = excluded.body",
          "DELETE FROM request WHERE owner = ?", "INSERT INTO event(id, at_ms, kind, subject, reason, text, data) VALUES(?, ?, ?, ?, ?, ?, ?)",
          "DELETE FROM event WHERE id <= ?", "INSERT INTO boot(type, mean_ms, n) VALUES(?, ?, 1) ON CONFLICT(type) DO UPDATE SET n = n + 1",
          "INSERT INTO value VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", "DELETE FROM value WHERE key = ?",
          "INSERT INTO machine(id) VALUES(?) ON CONFLICT(id) DO UPDATE SET zone = excluded.zone", "DELETE FROM machine WHERE id = ?",
          "SELECT owner, body FROM request ORDER BY created_ms, owner", "SELECT seq, id, zone FROM machine ORDER BY seq"]


def programs(path):
    """What SQLite makes of each statement: which constraints, conflicts, orders and defaults it believes."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [db.execute("EXPLAIN " + sql, (None,) * sql.count("?")).fetchall() for sql in WRITES]


def machines(path):
    """The columns of machines, and what makes one unique."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return ([row[1:] for row in db.execute("PRAGMA table_xinfo(machine)")],
                [(row[2:], db.execute(f"PRAGMA index_xinfo({row[1]})").fetchall()) for row in db.execute("PRAGMA index_list(machine)")])


def bent(rng, table):
    """Something more, something less, or something else, in one place of a table."""
    words = re.findall(r"[A-Za-z_]+|[0-9]+|'[^']*'|[(),]", table)
    at = rng.randrange(4, len(words) + 1)
    how = rng.random()
    if how < 0.7:
        words.insert(at, rng.choice(CLAUSES))
    elif how < 0.85:
        words[at - 1] = rng.choice(CLAUSES)
    else:
        del words[at - 1]
    return " ".join(words)


def test_what_is_taken_means_the_same_to_sqlite(daemon_of):
    """Random changes of one table: each is refused, or SQLite does the same with it as with ours."""
    d, rng = daemon_of(), random.Random(seed())
    d.start(wait="/readyz")
    assert d.stop() == 0
    ours = tables_of(d.dir / "davit.db")
    plain = d.dir / "plain.db"
    made_anew(plain, ours)
    assert check(plain).returncode == 0, check(plain)
    want, fleet = programs(plain), machines(plain)
    taken = refused = 0
    while taken + refused < 150:
        tables = list(ours)
        i = rng.randrange(len(tables))
        tables[i] = bent(rng, tables[i])
        path = d.dir / "bent.db"
        path.unlink(missing_ok=True)
        try:
            made_anew(path, tables)
        except sqlite3.Error:
            continue    # SQLite itself takes none of it
        p = check(path)
        if p.returncode:
            assert "Davit makes" in p.stdout + p.stderr or "has not the tables" in p.stdout + p.stderr, (tables[i], p)
            refused += 1
            continue
        taken += 1
        if " machine" in tables[i][:21]:
            columns, unique = machines(path)
            assert unique == fleet[1], tables[i]
            assert [c[:4] for c in columns if c in fleet[0]] == [c[:4] for c in fleet[0] if c in columns], tables[i]
        else:
            assert programs(path) == want, tables[i]
    print(f"{taken} taken, {refused} refused")


def test_texts_of_another_encoding(daemon_of):
    d = daemon_of()
    d.start(wait="/readyz")
    assert d.stop() == 0
    made_anew(d.dir / "other.db", tables_of(d.dir / "davit.db"), "UTF-16le")
    p = check(d.dir / "other.db")
    assert p.returncode != 0 and "UTF-16" in p.stdout + p.stderr, p
