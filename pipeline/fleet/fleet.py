"""The operations behind the verbs of `fleet`: quote, order, list and delete a night's servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Protocol

from pipeline.config import Config
from pipeline.fleet.cloud import Cloud
from pipeline.fleet.labels import check_label, night_name, server_name
from pipeline.fleet.night_variables import ClassServers, NightVariables
from pipeline.fleet.prices import Prices
from pipeline.fleet.quote import (
    Quote,
    ServerRequest,
    check_budgets,
    check_time,
    in_month,
    quote,
    server_requests,
)
from pipeline.fleet.resources import ProjectResources, Swept
from pipeline.fleet.runner_wait import arrived
from pipeline.fleet.runners import Program
from pipeline.fleet.server_inventory import ServerInventory
from pipeline.model import Frozen
from pipeline.storage.journal import now as present
from pipeline.storage.server_log import Rent, Servers
from pipeline.text.errors import UserError
from pipeline.text.units import Money


class RunnerRegistry(Protocol):
    """Registers GitHub Actions runners for the servers of a night."""

    def program(self) -> Program:
        """Return where to download the runner program of GitHub Actions."""
        ...

    def register(self, name: str, labels: Sequence[str]) -> str:
        """Register a runner at GitHub and return its configuration."""
        ...

    def remove(self, prefix: str) -> int:
        """Remove the runners at GitHub whose names have this prefix."""
        ...

    def silent(self) -> set[str]:
        """Return the names of registered runners that are not connected to GitHub."""
        ...


class RunningServer(Frozen):
    """A server that exists: what it has cost so far, and whether it has expired."""

    rent: Rent
    hours: int
    cost: Money
    past: bool


class FleetStatus(Frozen):
    """The existing servers, oldest first, and what servers have cost this month."""

    servers: tuple[RunningServer, ...]
    month: Money
    per_month: Money | None


class Fleet:
    """The servers of a cloud project that are rented for nights.

    Terraform creates the servers. This class decides beforehand which to create, and deletes those
    that remain. ``registry`` is called only when runners are needed: pricing and reaping need no
    GitHub token. ``note`` receives lines about the progress.
    """

    def __init__(
        self,
        config: Config,
        cloud: Cloud,
        registry: Callable[[], RunnerRegistry],
        note: Callable[[str], None],
        now: Callable[[], datetime] = present,
    ) -> None:
        self._settings, self._classes = config.fleet, config.machine_class
        self._cloud, self._registry, self._note, self._now = cloud, registry, note, now
        self._inventory = ServerInventory(Servers(config.paths.results), lambda: self.prices, now)
        self._resources = ProjectResources(cloud, self._settings.name, self._inventory, note)

    @cached_property
    def prices(self) -> Prices:
        """The cloud's current prices."""
        return Prices(self._cloud.pricing())

    def ask_prices(self) -> None:
        """Ask the cloud for its prices, once. Raises UserError if it does not respond."""
        _ = self.prices

    def quote(self, night: str = "", seconds: float = 0.0) -> Quote:
        """Return the price of the servers of all machine classes, as if none existed yet.

        ``seconds`` is how long the servers exist; 0 means the configured time to live.
        """
        return self._priced(None, night, seconds)

    def gate(self, night: str, work: Mapping[str, float], seconds: float = 0.0) -> Quote:
        """Return the price of a night's servers, if the night is allowed to rent them.

        ``work`` has the expected seconds of the steps of each class that is due; the others get no
        server. Raises QuoteRefusedError if a budget, the time to live or the capacity of the cloud
        does not allow the night, and UserError if there is no budget.
        """
        check_label("the night", night)
        # Servers that the record lacks count against the budgets.
        self._resources.servers()
        asked = self._priced(work, night, seconds)
        if asked.server_requests:
            check_time(asked, seconds or self._settings.ttl)
            check_budgets(asked, self._settings)
        return asked

    def order(
        self, asked: Quote, night: str, seconds: float = 0.0, attempt: int = 1
    ) -> NightVariables:
        """Register the runners of a night; return the variables with which Terraform creates it.

        Each further ``attempt`` takes the next available server type and location of each class, or
        the last one if there are no more.
        """
        registry = self._registry()
        requests = asked.server_requests
        for each in requests:
            check_label("the class", each.machine_class)
        return NightVariables(
            pipeline=self._settings.name,
            night=night,
            expires=self._now() + timedelta(seconds=seconds or self._settings.ttl),
            image=self._settings.image,
            packages=self._settings.packages,
            project_keys=self._settings.ssh_keys,
            runner_program=registry.program(),
            classes={each.machine_class: self._servers(each, attempt) for each in requests},
            runner_configurations={
                each.machine_class: tuple(
                    tuple(
                        registry.register(runner, each.runner_labels)
                        for runner in self._runners(self._name(night, each, number))
                    )
                    for number in range(1, each.count + 1)
                )
                for each in requests
            },
        )

    def ready(self, night: str) -> list[str]:
        """Record the servers of a night and wait for a runner of each; return their names.

        Raises UserError if the night has no servers, or if a runner does not connect in time.
        """
        check_label("the night", night)
        names = sorted(self._resources.servers(night))
        if not names:
            raise UserError(
                f"the night {night} has no servers; create them first, or name another night"
            )
        runners = {name: self._runners(name) for name in names}
        arrived(runners, self._registry().silent, self._cloud.policy)
        return names

    def down(self, night: str) -> Swept:
        """Delete all servers and other resources of a night."""
        check_label("the night", night)
        swept = self._resources.sweep(lambda mark: mark.night == night, night)
        try:
            self._registry().remove(f"{night_name(self._settings.name, night)}-")
        except UserError as error:
            self._note(
                "runners could not be removed from GitHub, which removes them itself after "
                f"some days: {error}"
            )
        return swept

    def reap(self) -> Swept:
        """Delete all servers and other resources that have expired."""
        moment = self._now()
        return self._resources.sweep(lambda mark: mark.expires <= moment)

    def status(self) -> FleetStatus:
        """Return the existing servers with their costs; bring the record of servers up to date."""
        self._resources.servers()
        moment, lives = self._now(), self._inventory.lives().values()
        standing = tuple(
            RunningServer(
                rent=each.rent,
                hours=each.rent.hours(moment),
                cost=each.rent.cost(moment),
                past=each.rent.expires <= moment,
            )
            for each in lives
            if each.ended is None
        )
        currency = self.prices.currency
        costs = [each.cost(moment) for each in in_month(lives, moment)]
        month = sum(cost.amount for cost in costs if cost.currency == currency)
        return FleetStatus(
            servers=standing,
            month=Money(month, currency),
            per_month=self._settings.per_month,
        )

    def _priced(self, work: Mapping[str, float] | None, night: str, seconds: float) -> Quote:
        sold_out = self._cloud.sold_out()
        return quote(
            server_requests(self._classes, self._settings, self.prices, sold_out, work),
            seconds or self._settings.ttl,
            self._inventory.lives().values(),
            night,
            self._now(),
            self.prices.currency,
        )

    def _servers(self, request: ServerRequest, attempt: int) -> ClassServers:
        (settings,) = [each for each in self._classes if each.name == request.machine_class]
        server_type, location = request.places[min(attempt, len(request.places)) - 1]
        return ClassServers(
            server_type=server_type,
            location=location,
            server_count=request.count,
            cores=settings.cores,
            memory_gb=settings.memory_gb,
            runner_labels=request.runner_labels,
        )

    def _name(self, night: str, request: ServerRequest, number: int) -> str:
        return server_name(self._settings.name, night, request.machine_class, number)

    def _runners(self, name: str) -> list[str]:
        """Return the names of the GitHub runners of a server, one for each job."""
        return [f"{name}-{job}" for job in range(1, self._settings.jobs + 1)]
