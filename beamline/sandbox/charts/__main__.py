"""Run the simulated chart registries: ``python -m beamline.sandbox.charts PORT CA-FILE``."""

import argparse
from pathlib import Path

from beamline.sandbox.charts.catalog import hosts
from beamline.sandbox.charts.certificates import issue
from beamline.sandbox.charts.proxy import Proxy


def main() -> None:
    """Serve until told to end. The CA's certificate is in its file before the first answer."""
    parser = argparse.ArgumentParser(prog="beamline.sandbox.charts", description="Simulated chart registries.")
    parser.add_argument("port", type=int, help="port of the proxy on loopback")
    parser.add_argument("ca_file", type=Path, help="where to write the certificate that clients are to trust")
    arguments = parser.parse_args()
    context = issue(hosts(), arguments.ca_file)
    with Proxy(arguments.port, hosts(), context) as proxy:
        proxy.serve_forever()


if __name__ == "__main__":
    main()
