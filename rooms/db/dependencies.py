"""Dependencies of migrations: which one of the portal creates a model that ours refers to."""

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module

from django.db.migrations import CreateModel, RenameModel, SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation


def created_in(model: str) -> tuple[str, str]:
    """The dependency on a model that a portal chose, such as "users.Group".

    Django's `swappable_dependency` takes the first migration of the app, but a portal that replaced its
    groups later creates them in another one.
    """
    app, _, name = model.partition(".")
    for migration, operations in _migrations(app):
        if any(_creates(operation, name.lower()) for operation in operations):
            return app, migration
    return app, "__first__"


def _migrations(app: str) -> Iterator[tuple[str, Iterable[Operation]]]:
    """The name and the operations of each; none if the app has no migrations."""
    package, _ = MigrationLoader.migrations_module(app)
    try:
        path = import_module(package).__path__ if package else []
    except ModuleNotFoundError:
        return
    for module in pkgutil.iter_modules(path):
        if module.name[0] not in "_~":  # as Django does
            yield module.name, import_module(f"{package}.{module.name}").Migration.operations


def _creates(operation: Operation, name: str) -> bool:
    if isinstance(operation, SeparateDatabaseAndState):
        return any(_creates(each, name) for each in operation.state_operations)
    if isinstance(operation, RenameModel):
        return operation.new_name_lower == name
    return isinstance(operation, CreateModel) and operation.name_lower == name
