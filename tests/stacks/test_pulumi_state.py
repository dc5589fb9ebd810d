"""Pulumi's marks stand once in the kit, and are those of the SDK that is installed."""

from __future__ import annotations

from pulumi.runtime import rpc

from stacks import pulumi_state


def test_the_marks_are_the_sdks() -> None:
    marks = (pulumi_state.SIGNATURE, pulumi_state.SECRET, pulumi_state.UNKNOWN_TEXT)
    assert marks == (rpc._special_sig_key, rpc._special_secret_sig, rpc.UNKNOWN)
