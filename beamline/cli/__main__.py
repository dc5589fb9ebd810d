"""`python -m beamline.cli`: the command line where the script is not installed."""

from beamline.cli.app import main

main()
