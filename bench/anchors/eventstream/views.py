"""Ask, listen, click: each checks what ours checks, commits once and tells."""

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from django_eventstream import send_event
from django_eventstream.views import events

from bench.anchors.card import CARD
from bench.anchors.eventstream.models import Key, Question

View = Callable[..., HttpResponse]


def with_key(view: View) -> View:
    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest, **path: Any) -> HttpResponse:
        text = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = Key.objects.filter(digest=hashlib.sha256(text.encode()).hexdigest()).first()
        return HttpResponse(status=401) if key is None else view(request, key=key, **path)

    return guarded


@with_key
@require_POST
def ask(request: HttpRequest, key: Key, room: str) -> HttpResponse:
    if key.room != room:
        return HttpResponse(status=404)
    question = Question.objects.create(room=room, prompts=json.loads(request.body)["questions"])
    send_event(f"room-{room}", "question", {"html": CARD})
    return JsonResponse({"id": question.pk, "status": "open", "questions": question.prompts}, status=201)


@with_key
@require_GET
def question_events(request: HttpRequest, key: Key, question_id: int) -> HttpResponse:
    get_object_or_404(Question, pk=question_id, room=key.room)
    response: HttpResponse = events(request, channels=[f"question-{question_id}"])
    return response


@login_required
@require_POST
def answer(request: HttpRequest, room: str, question_id: int) -> HttpResponse:
    question = get_object_or_404(Question, pk=question_id, room=room)
    chosen = question.prompts[0]["options"][int(request.POST["choice-0"])]["label"]
    settled = {"by": request.user.get_username(), "selectedOptions": [chosen]}
    if not Question.objects.filter(pk=question.pk, answer__isnull=True).update(answer=settled):
        return HttpResponse(status=409)
    told = {"id": question.pk, "status": "answered", "questions": question.prompts, "answer": settled}
    send_event(f"question-{question.pk}", "message", told)
    send_event(f"room-{room}", f"card-{question.pk}", {"html": CARD})
    return HttpResponse(status=303, headers={"Location": "/"})
