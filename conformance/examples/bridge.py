#!/usr/bin/env python3
"""A bridge without CSIG, as a device of csiglab conformance vectors: the least such program."""
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    answer = {"vector": request["vector"], "frames": []}
    if request["device"]["role"] != "switch":
        answer["cannot"] = "it is no host"
    for frame in request["frames"]:
        octets = bytes.fromhex(frame["frame"])
        if len(octets) < 14:
            continue
        host = int.from_bytes(octets[1:4], "big")  # 02, the host in three octets, 00 00
        for port, setup in enumerate(request["device"]["ports"]):
            if host in setup["hosts"]:
                answer["frames"].append({"port": port, "frame": frame["frame"]})
                break
    print(json.dumps(answer), flush=True)
