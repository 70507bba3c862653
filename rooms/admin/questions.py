"""Admin of questions and answers: read-only, except for withdrawing and deleting."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms import lifecycle
from rooms.admin.model_admins import ReadOnlyAdmin, short
from rooms.models import Answer, Question, QuestionQuerySet


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    list_display = (
        "text",
        "room",
        "agent_name",
        "status",
        "asked_at",
        "settled_at",
        "agent_is_waiting",
    )
    list_filter = ("status", "room", "asked_at")
    list_select_related = ("room",)
    search_fields = ("agent_name", "=id", "=session_id")
    fields = (
        "id",
        "room",
        "key",
        "agent_name",
        "agent_color",
        "session_id",
        "tool_use_id",
        "prompts",
        "context",
        "default_choices",
        "status",
        "asked_at",
        "expires_at",
        "settled_at",
        "delivered_at",
        "agent_is_waiting",
        "last_seen_at",
        "closes_at",
        "ended",
    )
    actions = ("withdraw",)

    def has_delete_permission(self, request: HttpRequest, obj: Question | None = None) -> bool:
        """Only settled questions: an agent may wait for an open one, so it has to be withdrawn first."""
        is_settled = obj is None or not obj.is_open
        return is_settled and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Question) -> None:
        lifecycle.delete_questions(Question.objects.filter(pk=obj.pk), by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        lifecycle.delete_questions(queryset, by=request.user)

    def has_withdraw_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ask_bridge.change_question")

    @admin.display(description=_("question"), ordering="id")
    def text(self, question: Question) -> str:
        return short(str(question))

    @admin.display(description=_("agent waiting"), boolean=True)
    def agent_is_waiting(self, question: Question) -> bool:
        return question.agent_is_waiting

    @admin.action(description=_("Withdraw selected questions"), permissions=["withdraw"])
    def withdraw(self, request: HttpRequest, queryset: QuestionQuerySet) -> None:
        withdrawn = lifecycle.withdraw_open(queryset, by=request.user)
        self.message_user(
            request, gettext("Questions withdrawn: %(count)s.") % {"count": withdrawn}, messages.SUCCESS
        )


@admin.register(Answer)
class AnswerAdmin(ReadOnlyAdmin):
    list_display = ("question_text", "room", "person_name", "via", "answered_at")
    list_filter = ("via", "room", "answered_at")
    list_select_related = ("room", "question")
    search_fields = ("username", "person_name", "=question__id")
    fields = (
        "id",
        "question",
        "room",
        "username",
        "person_name",
        "via",
        "choices",
        "asks_back",
        "reason",
        "answered_at",
    )

    def has_delete_permission(self, request: HttpRequest, obj: Answer | None = None) -> bool:
        """Only together with the question: an answered question must keep its answer."""
        address = request.resolver_match.url_name if request.resolver_match else None
        is_alone = (address or "").startswith("ask_bridge_answer_")
        return not is_alone and super().has_delete_permission(request, obj)

    @admin.display(description=_("question"), ordering="id")
    def question_text(self, answer: Answer) -> str:
        return short(str(answer.question))
