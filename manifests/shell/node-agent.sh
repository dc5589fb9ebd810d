# Runs the RDMA agent that the arguments name, and sees to it that the interfaces it brings up can be used.
#
# An interface whose IPv6 address failed duplicate address detection stays without one until it is taken down and up
# again. The agent must then start anew with the rest, so the container ends and is restarted.
# The agent may stay in the foreground or leave a daemon behind; whether that one works is for the probes to tell.
# SETTLE_S: seconds that interfaces get to come up.
"$@" &
agent=$!
sleep "$SETTLE_S"
failed=
for interface in $(ip -o link show | sed -n 's/^[0-9]*: \(gpu[^:@]*\).*/\1/p'); do
  if ip -6 addr show dev "$interface" | grep -q dadfailed; then
    echo "$interface: duplicate address detection failed; taking it down and up"
    ip link set dev "$interface" down
    ip link set dev "$interface" up
    failed=$interface
  fi
done
[ -z "$failed" ] || exit 1
wait "$agent" || exit
exec sleep infinity
