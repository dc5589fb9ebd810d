#!/bin/sh
# Makes one file system of this node's raw local SSDs (RAID-0, ext4), mounts it, and keeps its folders.
#
# Runs as root in the node's own mount namespace, with the tools of Container-Optimized OS.
# environment: DISKS   number of local SSDs that the node must have
#              MOUNT   where the file system is to be
#              BY_ID   links to the node's disks, by name
#              BLOCKS  the kernel's list of block devices
#              MOUNTS  the kernel's list of what is mounted
#              PODS    folders of the pods on this node, by uid
#
# A disk is written only while it is blank or half of an array of this script's own, whose stripes are worth nothing
# without the others. An array that holds a file system is never formatted, and whatever is somebody else's is left
# alone. It may be killed anywhere: superblocks come last, so that the next run sees a step as done or as not done.
# The folders exist on the file system only, so that a pod that needs one cannot start before it is mounted.
set -eu
umask 022
name=beamline

say() { echo "local SSD: $*"; }

fail() {
  say "$*" >&2
  exit 1
}

disks() {
  for link in "$BY_ID"/google-local-nvme-ssd-block* "$BY_ID"/google-local-ssd-block*; do
    case $link in
      *-part*) ;; # partitions; nothing here makes any
      *) if [ -e "$link" ]; then readlink -f "$link"; fi ;;
    esac
  done | sort -u # a disk may have a link of either name
}

signature() { blkid -p -o value -s "$1" "$2" || true; } # TYPE or LABEL; nothing when there is none

# Whether a disk is part of the array; ends the run when it is somebody else's.
is_member() {
  described=$(mdadm --examine "$1" 2>/dev/null || true)
  case $described in
    *"Raid Level"*)
      echo "$described" | grep -Eq "Name : ([^ ]*:)?$name( |$)" || fail "$1 is part of another array; not touched"
      ;;
    *)
      other=$(signature TYPE "$1")
      [ -z "$other" ] || fail "$1 holds $other, which is not the kit's; not touched"
      return 1
      ;;
  esac
}

# The device of an array that the kernel has started already, at boot or in an earlier run.
started() {
  for holder in "$BLOCKS/${1##*/}/holders"/md*; do
    if [ -e "$holder" ]; then echo "/dev/${holder##*/}"; fi
  done
}

create() {
  say "making an array of $DISKS disks"
  for disk in "$@"; do
    dd if=/dev/zero of="$disk" bs=1M count=256 conv=fsync,notrunc 2>/dev/null # what an earlier array began with
  done
  mdadm --create "/dev/md/$name" --run --force --level=0 --raid-devices="$DISKS" --name="$name" --homehost=any "$@"
}

# Folders of pods that are gone; a pod's folder below PODS exists from before its volumes until after them.
remove_stale() {
  for folder in "$MOUNT"/kv-tier/*; do
    uid=${folder##*/}
    if [ -d "$folder" ] && [ ! -e "$PODS/$uid" ]; then
      say "removing the KV tier of pod $uid, which is gone"
      rm -rf -- "$folder"
    fi
  done
}

found=$(disks)
# shellcheck disable=SC2086 # device paths have no spaces
set -- $found
[ "$#" -eq "$DISKS" ] || fail "the node has $# local SSDs of $DISKS"

members=0
for disk in "$@"; do
  if is_member "$disk"; then members=$((members + 1)); fi
done
if [ "$members" -lt "$DISKS" ]; then
  create "$@"
  array=/dev/md/$name
else
  array=$(started "$1")
  if [ -z "$array" ]; then
    array=/dev/md/$name
    mdadm --assemble "$array" --run "$@"
  fi
fi

case $(signature TYPE "$array") in
  "")
    say "formatting $array"
    mkfs.ext4 -q -m 0 -L "$name" "$array"
    ;;
  ext4) [ "$(signature LABEL "$array")" = "$name" ] || fail "$array holds another file system; not touched" ;;
  *) fail "$array holds no ext4; not touched" ;;
esac

if ! grep -q " $MOUNT " "$MOUNTS"; then
  mkdir -p "$MOUNT"
  mount -o noatime,discard "$array" "$MOUNT"
fi
mkdir -p "$MOUNT/kv-tier"
chmod 0777 "$MOUNT/kv-tier" # the folder of a pod gets this mode, and engines are not root
mkdir -p "$MOUNT/weights"   # last: whoever waits for it finds the other one too
say "mounted at $MOUNT"

remove_stale
while sleep 60; do remove_stale; done
