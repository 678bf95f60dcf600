#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a trace has of the program "numbered_calls" (tests/programs): each of its writes names itself by its offset."""
import json
import sys

import otf2
from otf2 import events as ev


def offsets(archive):
    """Path of each file numbers.N to the offsets of its recorded pwrite64 calls, in the order of the trace; "" where the record
    with the file's name was lost."""
    found = {}
    with otf2.reader.open(archive) as trace:
        for _, event in trace.events:
            if not isinstance(event, ev.IoOperationBegin) or event.mode != otf2.IoOperationMode.WRITE:
                continue
            name = event.handle.file.name if event.handle.file else ""
            for attribute, value in (event.attributes or {}).items():
                if attribute.name == "Offset" and ("/numbers." in name or not name):
                    found.setdefault(name, []).append(value)
    return found


if __name__ == "__main__":
    json.dump(offsets(sys.argv[1]), sys.stdout)
