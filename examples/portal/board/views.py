from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from board.models import Note


def board(request: HttpRequest) -> HttpResponse:
    return render(request, "board/board.html", {"notes": Note.objects.all()[:20]})
