# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""objects.py SUMMARY EXPRESSION...: are these true of a summary in JSON? Prints those that are not."""
import json
import re
import sys

SIZES = {"H5T_IEEE_F64LE": 8, "H5T_STD_I32LE": 4, "H5T_STD_I16LE": 2, "H5T_STD_I64LE": 8}


def in_file(path):
    """From h5dump -p -H: bytes of each dataset, by its path without the first slash; those of unknown element size are omitted."""
    sizes, groups, name, item = {}, [], None, None
    for line in open(path):
        word, depth = line.split(), (len(line) - len(line.lstrip())) // 3
        if word[:1] == ["GROUP"]:
            groups[depth:] = [word[1].strip('"')]
        elif word[:1] == ["DATASET"]:
            name, item = "/".join([g for g in groups[:depth] if g != "/"] + [word[1].strip('"')]), None
        elif word[:1] == ["ATTRIBUTE"]:
            name = None
        elif name and word[:1] == ["DATATYPE"]:
            item = SIZES.get(word[1], 0 if word[1] == "H5T_COMPOUND" else None)
        elif name and item is not None and len(word) > 1 and word[0] in SIZES:
            item += SIZES[word[0]]                      # a member
        elif name and word[:1] == ["DATASPACE"] and item is not None:
            sizes[name] = item
            for length in re.findall(r"\( ([0-9, ]+) \) /|$", line)[:1]:
                for n in filter(None, length.split(",")):
                    sizes[name] *= int(n)
    return sizes


def main():
    with open(sys.argv[1]) as file:
        summary = json.load(file)
    words = {"layers": {l["name"]: l for l in summary["layers"]},
             "objects": {(o["layer"], o["name"]): o for o in summary["objects"]}, "in_file": in_file}
    wrong = [e for e in sys.argv[2:] if not eval(e, words)]
    for expression in wrong:
        print("not true: " + expression)
        for (layer, name), o in sorted(words["objects"].items()):
            print(layer, name, o["bytes_read"], o["bytes_written"], end="; ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
