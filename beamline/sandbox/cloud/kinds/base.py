"""What a resource type of the simulated cloud has to say for itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Identity", "Inputs", "Kind"]

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Identity:
    """Which resource it is: Google's id and its parts."""

    id: str
    project: str
    location: str
    name: str


class Kind(ABC):
    """One resource type. The provider does what all types have in common and asks the type for the rest."""

    token: ClassVar[str]
    title: ClassVar[str]
    """What Google's provider calls it in messages."""
    named: ClassVar[bool] = True
    """Has a ``name`` input, which is made up when left out."""
    create_s: ClassVar[float] = 10
    update_s: ClassVar[float] = 10
    delete_s: ClassVar[float] = 10
    """How long the cloud takes, in real-world seconds: rough figures, to give a run its shape."""
    computed: ClassVar[tuple[str, ...]] = ()
    """Paths of outputs the cloud fills in where the inputs leave them out; unknown until it exists."""
    shared: ClassVar[bool] = False
    """Creating one that exists changes nothing (members of IAM policies); every other type answers 409."""

    @abstractmethod
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        """Return which resource these inputs describe."""

    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:  # noqa: ARG002
        """Yield what is wrong with the inputs by themselves; unknown values are left out of them."""
        yield from ()

    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:  # noqa: B027 - most types have nothing to say
        """Refuse what the cloud would refuse in view of what exists. Raises CloudError."""

    def exists_already(self, identity: Identity) -> CloudError:
        """Return the answer to creating one that exists."""
        return CloudError(f"googleapi: Error 409: The resource '{identity.id}' already exists, alreadyExists")

    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:  # noqa: ARG002
        """Return what the cloud adds to the inputs."""
        return {}

    def settle(self, record: Record, simulation: Simulation) -> dict[str, Any]:  # noqa: ARG002
        """Do the work behind a resource that was entered or changed; safe to repeat. Return outputs it found out.

        Raises CloudError when the resource does not come up.
        """
        return {}

    def before_update(self, record: Record, inputs: Inputs, simulation: Simulation) -> None:  # noqa: B027 - most types have nothing to say
        """Refuse a change the cloud would refuse. Raises CloudError."""

    def before_delete(self, record: Record, simulation: Simulation) -> None:  # noqa: B027 - most types have nothing to say
        """Refuse to delete what others need. Raises CloudError."""

    def remove(self, record: Record, simulation: Simulation) -> None:  # noqa: B027 - most types have nothing to say
        """Undo the work behind a resource; safe to repeat. Raises CloudError."""
