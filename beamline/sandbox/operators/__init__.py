"""SIMULATED GKE controllers: they turn Gateways, routes, pools, policies and PodMonitorings into statuses, and publish
the RDMA interfaces of nodes as devices.

In a real cluster Google runs these controllers and a stack waits for what they report. Here they move nothing: no load
balancer, no scraping. They judge references as GKE does (a class, a proxy-only subnet, a Service and its port) and
write the conditions GKE writes, with its finalizer on Gateways, so that a stack that would hang or fail there does so
here.

Beside them the operators that third-party charts bring, each SIMULATED and at work only while its chart is installed:
NVIDIA's DRA driver (ComputeDomains), Dynamo with Grove, LeaderWorkerSets. What they make is real to the scheduler.
"""
