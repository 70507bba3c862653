"""What Ask Bridge leaves of the models of a portal: everything as it was."""

import pytest
from django.contrib.auth import get_user_model
from django.db.models import Model

from rooms import membership


@pytest.mark.parametrize("model", [get_user_model(), membership.group_model()])
def test_models_of_the_portal_get_no_fields(model: type[Model]) -> None:
    """Filters, serializers and tests of a portal go through all fields, those of relations included."""
    related = {field.name: field.related_model for field in model._meta.get_fields() if field.is_relation}
    ours = [name for name, other in related.items() if other and other._meta.app_label == "ask_bridge"]
    assert ours == []
