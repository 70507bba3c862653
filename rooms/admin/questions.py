"""Admin of questions and answers: read-only, except for withdrawing and deleting."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms import lifecycle
from rooms.admin.model_admins import ReadOnlyAdmin, short
from rooms.admin.question_page import QuestionPage
from rooms.admin.question_search import find_ids
from rooms.models import Answer, Question, QuestionQuerySet
from rooms.rendering import markup
from rooms.rendering.card_content import Card
from rooms.web import needs_newer_version_in_words


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    list_display = ("text", "room", "agent_name", "status", "outcome", "asked_at", "agent_is_waiting")
    list_filter = ("status", "room", "answer__via", "asked_at")
    list_select_related = ("room", "answer")
    search_fields = ("agent_name", "=id", "=session_id")
    search_help_text = _("Words of the question, its answer, the agent or the person; or an exact ID.")
    change_form_template = "ask_bridge/admin/question.html"
    # What people read is in the template; here are the facts that identify the call.
    fields = (
        *("id", "room", "key", "agent_name", "session_id", "tool_use_id", "status"),
        *("expires_at", "closes_at", "agent_is_waiting"),
    )
    actions = ("withdraw",)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        found = Question.objects.with_answer().filter(pk=unquote(object_id)).first()
        context = dict(extra_context or {})
        if found:
            context |= {"shown": QuestionPage(found, request.user), "subtitle": markup.plain(str(found))}
        return super().change_view(request, object_id, form_url, context)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Adds what the words of questions and answers find to what the columns find."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if not search_term.strip():
            return found, may_repeat
        return found | queryset.filter(pk__in=find_ids(search_term)), may_repeat

    @admin.display(description=_("outcome"))
    def outcome(self, question: Question) -> str:
        """Who answered or how it ended; empty while it is open."""
        return "" if question.is_open and not question.is_held else Card(question).outcome.text

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
        return short(markup.plain(str(question)))

    @admin.display(description=_("agent waiting"), boolean=True)
    def agent_is_waiting(self, question: Question) -> bool:
        # Its lease lasts some seconds longer than its wait.
        return question.is_open and question.agent_is_waiting

    @admin.action(description=_("Withdraw selected questions"), permissions=["withdraw"])
    def withdraw(self, request: HttpRequest, queryset: QuestionQuerySet) -> None:
        try:
            withdrawn = lifecycle.withdraw_open(queryset, by=request.user)
        except lifecycle.NeedsNewerVersion:
            self.message_user(request, needs_newer_version_in_words(), messages.ERROR)
            return
        self.message_user(
            request, gettext("Questions withdrawn: %(count)s.") % {"count": withdrawn}, messages.SUCCESS
        )


@admin.register(Answer)
class AnswerAdmin(ReadOnlyAdmin):
    list_display = ("question_text", "room", "person_name", "via", "answered_at")
    list_filter = ("via", "room", "answered_at")
    list_select_related = ("room", "question")
    readonly_fields = ("decision",)
    search_fields = ("username", "person_name", "=question__id")
    fields = (
        "id",
        "question",
        "room",
        "username",
        "person_name",
        "via",
        "decision",
        "asks_back",
        "reason",
        "answered_at",
    )

    def has_delete_permission(self, request: HttpRequest, obj: Answer | None = None) -> bool:
        """Only together with the question: an answered question must keep its answer."""
        address = request.resolver_match.url_name if request.resolver_match else None
        is_alone = (address or "").startswith("ask_bridge_answer_")
        return not is_alone and super().has_delete_permission(request, obj)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("room", "question__room")

    @admin.display(description=_("choices"))
    def decision(self, answer: Answer) -> str:
        """The prompts of the question, with the chosen options marked."""
        return render_to_string("ask_bridge/admin/_prompts.html", {"card": Card(answer.question)})

    @admin.display(description=_("question"), ordering="id")
    def question_text(self, answer: Answer) -> str:
        return short(markup.plain(str(answer.question)))
