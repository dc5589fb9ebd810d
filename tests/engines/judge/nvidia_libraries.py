"""Empty stand-ins for NVIDIA's libraries, so that PyTorch's CUDA build can be imported on a machine without them.

The package index has PyTorch for Linux in its CUDA build alone, and with it come 2 GB of NVIDIA's libraries. Judging a
command line calls none of them, but the dynamic loader wants each by name, with the symbols that PyTorch refers to.
One small library has them all: every function returns 0 and does nothing, so PyTorch finds no GPU.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["provide"]

_DYNAMIC, _DYNSYM, _VERSYM, _VERNEED = 6, 11, 0x6FFFFFFF, 0x6FFFFFFE
_NEEDED, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _HASH, _SONAME = 1, 5, 6, 10, 11, 4, 14
_DT_VERSYM, _DT_VERDEF, _DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
_RETURN_ZERO = {"x86_64": b"\x31\xc0\xc3", "aarch64": b"\x00\x00\x80\x52\xc0\x03\x5f\xd6"}
_MACHINE = {"x86_64": 62, "aarch64": 183}
_SYSTEM = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "libgcc_s.", "libstdc++.", "ld-linux")


@dataclass
class _Library:
    """What a shared library needs and defines."""

    needed: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    undefined: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Symbol -> the file and the version it was linked with; empty texts where it says none."""


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def _read(path: Path) -> _Library:
    data = path.read_bytes()
    found = _Library()
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * i) for i in range(count)]
    by_type = {section[1]: section for section in sections}
    if _DYNAMIC not in by_type or _DYNSYM not in by_type:
        return found

    def content(section: tuple[int, ...]) -> bytes:
        return data[section[4] : section[4] + section[5]]

    strings = content(sections[by_type[_DYNSYM][6]])
    for tag, value in struct.iter_unpack("<qQ", content(by_type[_DYNAMIC])):
        if tag == _NEEDED:
            found.needed.add(_text(strings, value))
    versions = dict(_versions_needed(content(by_type[_VERNEED]), strings)) if _VERNEED in by_type else {}
    symbols = content(by_type[_DYNSYM])
    marks = struct.unpack(f"<{len(symbols) // 24}H", content(by_type[_VERSYM])) if _VERSYM in by_type else None
    for index, (name, _info, _other, section, _value, _size) in enumerate(struct.iter_unpack("<IBBHQQ", symbols)):
        if not name:
            continue
        if section:
            found.defined.add(_text(strings, name))
        else:
            mark = marks[index] & 0x7FFF if marks else 0
            found.undefined[_text(strings, name)] = versions.get(mark, ("", ""))
    return found


def _versions_needed(data: bytes, strings: bytes) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield index -> (file, version) of a table of needed versions."""
    at = 0
    while True:
        _, count, file, aux, following = struct.unpack_from("<HHIII", data, at)
        inner = at + aux
        for _ in range(count):
            _, _, index, name, step = struct.unpack_from("<IHHII", data, inner)
            yield index, (_text(strings, file), _text(strings, name))
            inner += step
        if not following:
            return
        at += following


def _elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


class _Strings:
    def __init__(self) -> None:
        self.data, self._at = bytearray(b"\0"), {"": 0}

    def add(self, text: str) -> int:
        if text not in self._at:
            self._at[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._at[text]


def _library(name: str, symbols: dict[str, str], versions: list[str]) -> bytes:
    """Return a shared library that defines ``symbols`` (name -> version or "") and ``versions``."""
    machine = platform.machine()
    strings = _Strings()
    soname = strings.add(name)
    index = {version: number for number, version in enumerate(versions, 2)}
    verdef = b""
    for number, version in enumerate([name, *versions], 1):
        last = number == len(versions) + 1
        verdef += struct.pack("<HHHHIII", 1, int(number == 1), number, 1, _elf_hash(version), 20, 0 if last else 28)
        verdef += struct.pack("<II", strings.add(version), 0)
    ordered = sorted(symbols)
    names = [strings.add(symbol) for symbol in ordered]
    versym = struct.pack(f"<{len(ordered) + 1}H", 0, *(index.get(symbols[symbol], 1) for symbol in ordered))

    buckets = max(1, len(ordered))
    heads, chain = [0] * buckets, [0] * (len(ordered) + 1)
    for number, symbol in enumerate(ordered, 1):
        bucket = _elf_hash(symbol) % buckets
        chain[number], heads[bucket] = heads[bucket], number
    hashes = struct.pack(f"<{2 + buckets + len(chain)}I", buckets, len(chain), *heads, *chain)

    code = _RETURN_ZERO[machine].ljust(16, b"\0")
    place, at = {}, 64 + 3 * 56
    sizes = {
        "code": code,
        "hash": hashes,
        "strings": bytes(strings.data),
        "symbols": b"\0" * 24 * (len(ordered) + 1),
        "versym": versym,
        "verdef": verdef,
        "dynamic": b"\0" * 16 * 10,
    }
    for key, data in sizes.items():
        at = -(-at // 16) * 16
        place[key] = at
        at += len(data)
    total = at
    symtab = b"\0" * 24 + b"".join(struct.pack("<IBBHQQ", n, 0x12, 0, 1, place["code"], len(code)) for n in names)
    dynamic = b"".join(
        struct.pack("<qQ", tag, value)
        for tag, value in (
            (_SONAME, soname),
            (_HASH, place["hash"]),
            (_STRTAB, place["strings"]),
            (_SYMTAB, place["symbols"]),
            (_STRSZ, len(strings.data)),
            (_SYMENT, 24),
            (_DT_VERSYM, place["versym"]),
            (_DT_VERDEF, place["verdef"]),
            (_DT_VERDEFNUM, len(versions) + 1),
            (0, 0),
        )
    )
    image = bytearray(total)
    ident = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    image[:64] = ident + struct.pack("<HHIQQQIHHHHHH", 3, _MACHINE[machine], 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    # Everything is one segment that can be read, written (the loader relocates its dynamic part) and run.
    image[64:232] = (
        struct.pack("<IIQQQQQQ", 1, 7, 0, 0, 0, total, total, 0x10000)
        + struct.pack(
            "<IIQQQQQQ", 2, 6, place["dynamic"], place["dynamic"], place["dynamic"], len(dynamic), len(dynamic), 8
        )
        + struct.pack("<IIQQQQQQ", 0x6474E551, 6, 0, 0, 0, 0, 0, 16)
    )
    for key, data in {**sizes, "symbols": symtab, "dynamic": dynamic}.items():
        image[place[key] : place[key] + len(data)] = data
    return bytes(image)


def provide(folder: Path) -> list[str]:
    """Put into ``folder``, PyTorch's own, whatever its libraries need and is not there; return the names."""
    libraries = {path.name: _read(path) for path in sorted(folder.glob("*.so*")) if not path.is_symlink()}
    missing = {
        need
        for library in libraries.values()
        for need in library.needed
        if need not in libraries and not need.startswith(_SYSTEM) and "torch" not in need
    }
    here = {symbol for library in libraries.values() for symbol in library.defined}
    wanted = {
        symbol: version
        for library in libraries.values()
        for symbol, (file, version) in library.undefined.items()
        if symbol not in here and (file in missing or not (file or symbol.startswith("_")))
    }
    versions = sorted({version for version in wanted.values() if version})
    target = folder / "libstandins.so"
    target.write_bytes(_library(target.name, wanted, versions))
    for name in missing:
        (folder / name).symlink_to(target.name)
    return sorted(missing)


if __name__ == "__main__":
    (folder,) = Path(sys.prefix).glob("lib/python3*/site-packages/torch/lib")
    sys.stderr.write(f"stand-ins for {', '.join(provide(folder))}\n")
