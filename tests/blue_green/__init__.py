"""One accelerator pool takes over from another under a running stack, and nobody misses a replica."""
