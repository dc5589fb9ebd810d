"""beamline: declarative infrastructure that serves Reflection's Beam on Google Kubernetes Engine."""

__version__ = "0.1.0"
