"""SIMULATED Google Cloud: the resources a stack creates, kept in a ledger, refused where Google would refuse them.

A stack must meet the cloud's own rules before it costs money: a network in use, a missing secondary range, a machine
type that a zone does not have, a node pool that is newer than its control plane. Google's API cannot run here, so this
package answers Pulumi in its place, through the same plugin protocol and in Google's words where they are known.
What it creates lasts (``cloud/ledger.db`` in the sandbox), survives kill -9, and answers 409 when created twice.
It knows the resource types a stack of this kit uses, and refuses every other one by name.
"""
