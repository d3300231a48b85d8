"""Counters of gcc's coverage (.gcda), read and added up without gcov: a run of gcov for each program and object would take hours.

read(path)  {function: [counts of its arcs]}, a function by its two checksums; {} where the file is of another compiler.
The format is that of gcc 12: gcc/gcov-io.h, "gcda file".  Lengths are bytes there; a negative one says that all counts are 0.
"""
import struct

MAGIC = 0x67636461
FUNCTION, ARCS = 0x01000000, 0x01a10000
HEADER = 4  # words: magic, version, stamp, checksum


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    words = memoryview(data[:len(data) // 4 * 4]).cast("I")
    if len(words) < HEADER or words[0] != MAGIC:
        return {}
    found, at, name = {}, HEADER, None
    while at + 2 <= len(words):
        tag, length = words[at], struct.unpack_from("i", data, 4 * (at + 1))[0]
        at += 2
        if tag == 0:
            break
        size = max(0, length) // 4
        if tag == FUNCTION and size == 3:
            name = tuple(words[at:at + 2])
        elif tag == ARCS and name is not None:
            found[name] = [0] * (-length // 8) if length < 0 else list(memoryview(data)[4 * at:4 * at + length // 8 * 8].cast("Q"))
        at += size
    return found
