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
# alone; so is a disk that cannot be looked at, and one in use. It may be killed anywhere: superblocks come last, so that the next run sees a step as done or as not done.
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

# Sets `probed` to what blkid finds on a device; empty when there is nothing. Not knowing is not nothing.
probe() {
  code=0
  probed=$(blkid -p -o export "$1") || code=$?
  case $code in
    0 | 2) ;; # 2: nothing found
    *) fail "$1 cannot be looked at: blkid ended with $code" ;;
  esac
}

# Sets `state` of a disk to member (of the array) or blank; ends the run at anything else.
look() {
  if seen=$(mdadm --examine "$1" 2>&1); then
    echo "$seen" | grep -q "Raid Level" || fail "$1 holds something that is not the kit's; not touched"
    echo "$seen" | grep -Eq "Name : ([^ ]*:)?$name( |$)" || fail "$1 is part of another array; not touched"
    state=member
    return
  fi
  case $seen in
    *"No md superblock"*) ;;
    *) fail "$1 cannot be looked at: mdadm says $seen" ;;
  esac
  probe "$1"
  [ -z "$probed" ] || fail "$1 holds something that is not the kit's; not touched"
  state=blank
}

# The device of an array that the kernel has started already, at boot or in an earlier run.
started() {
  for holder in "$BLOCKS/${1##*/}/holders"/md*; do
    if [ -e "$holder" ]; then echo "/dev/${holder##*/}"; fi
  done
}

# Ends the run when a disk is in use; an array that lacks disks and was never started is only taken apart.
release() {
  for holder in "$BLOCKS/${1##*/}/holders"/*; do
    if [ -e "$holder" ]; then
      used_by=${holder##*/}
      [ "$(cat "$BLOCKS/$used_by/md/array_state" 2>/dev/null)" = inactive ] || fail "$1 is in use by $used_by; not touched"
      mdadm --stop "/dev/$used_by"
    fi
  done
}

create() {
  if mounted; then fail "$MOUNT is mounted, and yet its disks look blank; not touched"; fi
  for disk in "$@"; do release "$disk"; done
  say "making an array of $DISKS disks"
  for disk in "$@"; do
    dd if=/dev/zero of="$disk" bs=1M count=256 conv=fsync,notrunc 2>/dev/null # what an earlier array began with
  done
  mdadm --create "/dev/md/$name" --run --force --level=0 --raid-devices="$DISKS" --name="$name" --homehost=any "$@"
}

mounted() { grep -q " $MOUNT " "$MOUNTS"; }

# Folders of pods that are gone; a pod's folder below PODS exists from before its volumes until after them.
remove_stale() {
  [ -d "$PODS" ] || fail "$PODS is missing, so nobody knows which pods are gone"
  for folder in "$MOUNT"/kv-tier/*; do
    uid=${folder##*/}
    if [ -d "$folder" ] && [ ! -e "$PODS/$uid" ]; then
      say "removing the KV tier of pod $uid, which is gone"
      rm -rf -- "$folder"
    fi
  done
}

for tool in mdadm blkid mkfs.ext4 dd; do
  command -v "$tool" >/dev/null || fail "the node has no $tool"
done
found=$(disks)
# shellcheck disable=SC2086 # device paths have no spaces
set -- $found
[ "$#" -eq "$DISKS" ] || fail "the node has $# local SSDs of $DISKS"

members=0
for disk in "$@"; do
  look "$disk"
  if [ "$state" = member ]; then members=$((members + 1)); fi
done
if [ "$members" -lt "$DISKS" ]; then create "$@"; fi
array=$(started "$1")
if [ -z "$array" ]; then
  array=/dev/md/$name
  if [ "$members" -eq "$DISKS" ]; then mdadm --assemble "$array" --run "$@"; fi
fi

probe "$array"
if [ -z "$probed" ]; then
  say "formatting $array"
  mkfs.ext4 -q -m 0 -L "$name" "$array"
else
  echo "$probed" | grep -qx "TYPE=ext4" || fail "$array holds no ext4; not touched"
  echo "$probed" | grep -qx "LABEL=$name" || fail "$array holds another file system; not touched"
fi

if ! mounted; then
  mkdir -p "$MOUNT"
  # Reads are recorded (relatime): the evictor of KV tiers goes by them. With lazytime that stays in memory for long.
  mount -o lazytime,discard "$array" "$MOUNT"
fi
mkdir -p "$MOUNT/kv-tier"
chmod 0777 "$MOUNT/kv-tier" # the folder of a pod gets this mode, and engines are not root
mkdir -p "$MOUNT/weights"   # last: whoever waits for it finds the other one too
say "mounted at $MOUNT"

remove_stale
while sleep 60; do remove_stale; done
