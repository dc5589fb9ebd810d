#!/bin/sh
# Puts one set of weights on this node and keeps it there; one container per set and node.
#
# usage: seed.sh bucket gs://BUCKET/PREFIX
#        seed.sh huggingface REPOSITORY COMMIT
# environment: ROOT    the node's weights folder
#              KEY     this set's folder below ROOT; its name changes with source and revision
#              MARKER  text that names source and revision
#              BYTES   size of the set
#              KEEP    folders the stack needs, separated by spaces
#
# Readers trust a folder only when $KEY/.complete holds MARKER. It is written last, by rename, so that nobody ever sees
# half a checkpoint. A killed copy goes on where it stopped: both tools leave complete files alone.
set -eu
umask 022

folder="$ROOT/$KEY"
complete="$folder/.complete"

say() { echo "$KEY: $*"; }

fail() {
  say "$*" >&2
  exit 1
}

is_complete() { [ -f "$complete" ] && [ "$(cat "$complete")" = "$MARKER" ]; }

all_complete() {
  for key in $KEEP; do
    [ -f "$ROOT/$key/.complete" ] || return 1
  done
}

remove_stale() {
  for other in "$ROOT"/*; do
    case " $KEEP " in
      *" ${other##*/} "*) ;;
      *)
        say "removing ${other##*/}, which no part of the stack uses any more"
        rm -rf -- "$other"
        ;;
    esac
  done
}

has_room() {
  free=$(df --output=avail --block-size=1 "$ROOT" | tail -n 1 | tr -d ' ')
  present=$(du --summarize --block-size=1 "$folder" | cut -f 1)
  missing=$((BYTES - present))
  [ "$free" -ge "$missing" ]
}

fetch() {
  case "$1" in
    bucket) gcloud storage rsync --recursive "$2" "$folder" ;;
    huggingface) hf download "$2" --revision "$3" --local-dir "$folder" ;;
    *) fail "unknown kind of source: $1" ;;
  esac
}

mkdir -p "$folder"
exec 9>"$ROOT/.$KEY.lock"
flock 9 # a replaced pod may still be writing for a moment

if is_complete; then
  say "already here: $MARKER"
else
  # Old revisions stay until the new one is whole, for engines that restart meanwhile; unless the disk is too small.
  has_room || remove_stale
  has_room || fail "$missing bytes are missing and only $free are free on the node's local SSD"
  say "fetching $MARKER"
  fetch "$@"
  [ -f "$folder/config.json" ] || fail "no config.json in $MARKER: this is no checkpoint"
  rm -rf "$folder/.cache" # bookkeeping of the hub's downloader
  chmod -R a+rX "$folder" # the engine reads it as another user
  sync
  printf '%s\n' "$MARKER" >"$complete.new"
  mv "$complete.new" "$complete"
  say "complete: $MARKER"
fi
flock -u 9

if all_complete; then
  remove_stale
fi
exec sleep infinity
