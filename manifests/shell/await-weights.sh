# Ends when every set of weights is whole on this node.
# arguments: FOLDER MARKER, once for each set; the markers are those that seed.sh writes
set -eu
while [ $# -gt 0 ]; do
  until [ "$(cat "$1/.complete" 2>/dev/null)" = "$2" ]; do
    echo "waiting for $2"
    sleep 5
  done
  shift 2
done
