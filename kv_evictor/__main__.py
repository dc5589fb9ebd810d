"""``python3 -m kv_evictor``: run until a signal ends it."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from kv_evictor.evictor import Evictor
from kv_evictor.files import RefusedError, check_leases, open_root, reads_recorded
from kv_evictor.limits import Limits
from kv_evictor.log import Log
from kv_evictor.server import Server


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Keep the folder of vLLM's fs KV tier below a capacity.")
    parser.add_argument("--root", required=True, help="a mount; everything below it counts, blocks go")
    parser.add_argument("--capacity-bytes", type=int, required=True)
    parser.add_argument("--high-percent", type=int, default=Limits.high_percent)
    parser.add_argument("--low-percent", type=int, default=Limits.low_percent)
    parser.add_argument("--free-floor-bytes", type=int, default=Limits.free_floor_bytes)
    parser.add_argument("--min-age-s", type=float, default=Limits.min_age_s)
    parser.add_argument("--temp-age-s", type=float, default=Limits.temp_age_s)
    parser.add_argument("--empty-folder-age-s", type=float, default=Limits.empty_folder_age_s)
    parser.add_argument("--deletions-per-s", type=int, default=Limits.deletions_per_s)
    parser.add_argument("--candidates", type=int, default=Limits.candidates, help="blocks kept in mind a walk")
    parser.add_argument("--tick-s", type=float, default=1.0, help="between two looks at the disk's free space")
    parser.add_argument("--scan-every-s", type=float, default=60.0, help="walk at least this often")
    parser.add_argument("--stall-s", type=float, default=120.0, help="/healthz fails after so long without progress")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--any-folder", action="store_true", help="take a root that is no mount")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Run until a signal ends it; 2: the root or a bound was refused."""
    arguments = _arguments(argv)
    log = Log()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # as first process of a container it has no default
    try:
        limits = Limits(**{name: getattr(arguments, name) for name in Limits.__dataclass_fields__})
        root = open_root(arguments.root, mounted=not arguments.any_folder)
        check_leases(arguments.root)
        reads = reads_recorded(arguments.root)
        evictor = Evictor(root, limits, reads=reads, log=log)
        server = Server(arguments.address, arguments.port, evictor, arguments.stall_s)
    except (RefusedError, ValueError, OSError) as error:
        log.say("refused", why=str(error))
        return 2
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log.say("started", root=arguments.root, reads=reads, port=server.server_port, **vars(limits))
    try:
        evictor.run(arguments.tick_s, arguments.scan_every_s)
    except RefusedError as error:
        log.say("refused", why=str(error))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
