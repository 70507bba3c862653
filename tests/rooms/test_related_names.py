"""What a portal's models get from ours: no reverse name that could be one of theirs."""

from typing import Any

import pytest
from django.apps import apps
from django.db.models import ForeignKey, ManyToManyField


def relations_to_others() -> list[Any]:
    """Our foreign keys and many-to-many fields to models of other apps, such as the user model."""
    return [
        field
        for model in apps.get_app_config("ask_bridge").get_models(include_auto_created=True)
        for field in (*model._meta.local_fields, *model._meta.local_many_to_many)
        if isinstance(field, ForeignKey | ManyToManyField)
        and field.related_model._meta.app_label != "ask_bridge"
    ]


@pytest.mark.parametrize("field", relations_to_others(), ids=str)
def test_reverse_name_on_a_model_of_the_portal_cannot_clash(field: Any) -> None:
    assert field.remote_field.hidden or (
        field.remote_field.get_accessor_name().startswith("ask_bridge_")
        and field.related_query_name().startswith("ask_bridge_")
    )


def test_walk_finds_the_user_model() -> None:
    assert "memberships" not in {field.remote_field.get_accessor_name() for field in relations_to_others()}
    assert "ask_bridge.Membership.user" in {str(field) for field in relations_to_others()}
