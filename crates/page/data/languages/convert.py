#!/usr/bin/env python3
"""Converts the language model of py3langid 0.4.0 into `model.zst`, which the crate embeds.

    python3 -m venv /tmp/convert
    /tmp/convert/bin/pip install py3langid==0.4.0 numpy==2.4.6 zstandard==0.25.0
    /tmp/convert/bin/python convert.py model.zst

With these versions the output is the same, byte for byte. The script prints the SHA-256 of the uncompressed model,
which does not depend on the version of zstandard. LICENSE is the licence of py3langid, which covers the model.

The original model is a naive Bayes classifier. Its features are byte strings, found by an automaton that reports the
longest feature that ends at each byte. Its weights are logarithms of probabilities, one for each feature and class.
A class is a language, or one script of a language. Most weights of a class are equal to its lowest weight, because the
feature never occurred in the training texts of that class. So the converted model stores the lowest weight of each
class once, and for each feature only the differences that are not zero, as bytes in units of STEP.

Layout of the uncompressed model; all numbers are little-endian:

    magic       8 bytes     "aralang1"
    step        f32         unit of the differences
    classes     u32         number of classes C
    dense       u32         number of dense features D
    sparse      u32         number of sparse features S
    codes       8 bytes x C ISO 639 code, filled up with NUL
    prior       f32 x C     logarithm of the probability of the class
    lowest      f32 x C     lowest weight of the class
    states      u32         number of states N
    base        u32 x N     a state's successor for byte b is base + b, if ...
    parent      u32 x N     ... the parent of that successor is the state; NONE for unused numbers
    failure     u32 x N     state of the longest proper suffix that is a state
    feature     u32 x N     the longest feature that ends in the state, or NONE
    counts      u8 x S      number of differences of each sparse feature
    where                   classes of these differences, u8 each, ascending within a feature
    values                  these differences, u8 each
    matrix      u8 x (D*C)  differences of the dense features, one row of C bytes for each feature

The dense features are those with differences in more than a quarter of the classes. They come first. Both groups are
sorted by their bytes. The states are those of an Aho-Corasick automaton, as a double array; state 0 is the empty string.
"""

import hashlib
import io
import lzma
import struct
import sys
from importlib.resources import files

import numpy as np
import zstandard

MAGIC = b"aralang1"
NONE = 2**32 - 1


def load():
    packed = files("py3langid").joinpath("data/model.npz.xz").read_bytes()
    model = np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False)
    weights = model["ptc"].astype(np.float32)
    return weights, model["pc"], list(model["classes"]), features(model)


def features(model):
    """The byte string of each feature: the shortest path to a state that reports it."""
    rows, row_of = model["nextmove"].reshape(-1, 256), model["nextmove_row"]
    reported = model["out_feat"]
    paths, queue, strings = {0: b""}, [0], {}
    for state in queue:
        following = rows[row_of[state]]
        for byte in range(256):
            target = int(following[byte])
            if target not in paths:
                paths[target] = paths[state] + bytes([byte])
                queue.append(target)
    for state in queue:
        if reported[state] >= 0:
            strings.setdefault(int(reported[state]), paths[state])
    check_automaton(paths, rows, row_of, reported, strings)
    return strings


def check_automaton(paths, rows, row_of, reported, strings):
    """The automaton must report the longest feature that ends at each byte, and nothing else."""
    by_string = {string: feature for feature, string in strings.items()}
    assert len(by_string) == len(strings)
    for state, path in paths.items():
        longest = next((path[i:] for i in range(len(path)) if path[i:] in by_string), None)
        assert reported[state] == by_string.get(longest, -1), path


def convert(weights, prior, classes, strings):
    lowest = weights.min(axis=0)
    differences = weights - lowest
    step = np.float32(differences.max() / 255)
    scaled = np.rint(differences / step).astype(np.uint8)
    filled = (scaled > 0).sum(axis=1)
    limit = len(classes) // 4
    order = sorted(strings, key=lambda f: (filled[f] <= limit, strings[f]))
    dense = [f for f in order if filled[f] > limit]
    sparse = order[len(dense):]

    arrays = automaton([strings[feature] for feature in order])
    where, values = bytearray(), bytearray()
    for feature in sparse:
        columns = np.flatnonzero(scaled[feature])
        where += columns.astype(np.uint8).tobytes()
        values += scaled[feature][columns].tobytes()

    return b"".join([
        MAGIC,
        struct.pack("<fIII", step, len(classes), len(dense), len(sparse)),
        b"".join(code.encode().ljust(8, b"\0") for code in classes),
        np.asarray(prior, "<f4").tobytes(),
        np.asarray(lowest, "<f4").tobytes(),
        struct.pack("<I", len(arrays[0])),
        *(np.asarray(array, "<u4").tobytes() for array in arrays),
        bytes(filled[f] for f in sparse),
        bytes(where),
        bytes(values),
        scaled[dense].tobytes(),
    ])


def automaton(strings):
    """The arrays base, parent, failure and feature of the automaton that finds these strings."""
    children, ends = [{}], [NONE]
    for number, string in enumerate(strings):
        node = 0
        for byte in string:
            if byte not in children[node]:
                children[node][byte] = len(children)
                children.append({})
                ends.append(NONE)
            node = children[node][byte]
        ends[node] = number

    number_of, base, parent = place(children)
    failure, feature = [0] * len(base), [NONE] * len(base)
    fails, reports, queue = {0: 0}, {0: NONE}, [0]
    for node in queue:
        for byte, child in children[node].items():
            fail = fails[node]
            while fail and byte not in children[fail]:
                fail = fails[fail]
            fails[child] = children[fail].get(byte, 0) if node else 0
            reports[child] = ends[child] if ends[child] != NONE else reports[fails[child]]
            failure[number_of[child]] = number_of[fails[child]]
            feature[number_of[child]] = reports[child]
            queue.append(child)
    return base, parent, failure, feature


def place(children):
    """Gives each node of a trie a number, such that the children of a node are at its base plus their bytes."""
    number_of, base, parent = {0: 0}, [0], [NONE]
    # A single child takes the first free number. Several children are placed near the end, where there is more room.
    free, floor = 1, 1
    used = {0}
    queue = [0]
    for node in queue:
        labels = sorted(children[node])
        if not labels:
            continue
        while free in used:
            free += 1
        if len(labels) == 1 and free > labels[0]:
            start = free - labels[0]
        else:
            start = max(floor, free - labels[0])
            while any(start + label in used for label in labels):
                start += 1
            floor = max(floor, start - 256)
        number = number_of[node]
        size = start + 256
        base += [0] * (size - len(base))
        parent += [NONE] * (size - len(parent))
        base[number] = start
        for label in labels:
            child = children[node][label]
            number_of[child] = start + label
            parent[start + label] = number
            used.add(start + label)
            queue.append(child)
    return number_of, base, parent


def main():
    model = convert(*load())
    packed = zstandard.ZstdCompressor(level=19).compress(model)
    with open(sys.argv[1], "wb") as out:
        out.write(packed)
    print(f"{len(model)} bytes, sha256 {hashlib.sha256(model).hexdigest()}, compressed {len(packed)}")


if __name__ == "__main__":
    main()
