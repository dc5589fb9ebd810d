"""Changes of a stack that serves, and the replicas that are ready meanwhile."""
