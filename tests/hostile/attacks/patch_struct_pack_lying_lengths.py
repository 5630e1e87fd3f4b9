"""Replaces struct.pack and Struct so that the frame's body length is announced as 2**63 or cut short in turn."""
import struct

real_pack, real_Struct = struct.pack, struct.Struct
turn = [0]


def pack(fmt, *values):
    if "Q" in str(fmt) and len(values) >= 2 and isinstance(values[-1], int):
        turn[0] += 1
        values = values[:-1] + ([2 ** 63, values[-1] // 2, 0, 2 ** 64 - 1][turn[0] % 4],)
    return real_pack(fmt, *values)


class Struct(real_Struct):
    def pack(self, *values):
        return pack(self.format, *values)


struct.pack, struct.Struct = pack, Struct
