"""Search of questions in the admin, by the words of question, answer, agent and person.

Settled questions are found in the index of the history. Open ones are not in it yet: they are compared in
memory, with the same words. A JSON column cannot be searched as text: SQLite stores it with escaped letters.
"""

from rooms.db.transactions import optional_writes
from rooms.history import writer
from rooms.history.index import text_of
from rooms.history.index_query import Term
from rooms.history.search import Search
from rooms.models import Question, Room

# The newest matches: more than a person looks through, and few enough for the parameters of one query.
MOST_FOUND = 500
# The newest open questions that are compared; a site has a few dozen.
MOST_OPEN = 1_000
# As on the History page: enough that a new answer is found at once.
CATCH_UP_SECONDS = 0.1


def find_ids(text: str) -> list[str]:
    """Ids of the newest questions with all of these words."""
    search = Search.read({"q": text})
    if not search.terms:
        return []
    with optional_writes():
        writer.catch_up(CATCH_UP_SECONDS)
    query = search.index_query(list(Room.objects.only("pk", "slug")))
    settled = [question_id for _, question_id in query.newest_entries(MOST_FOUND)] if query else []
    newest = Question.objects.open().order_by("-id")[:MOST_OPEN]
    still_open = [question.pk for question in newest if _has_all(text_of(question), search.terms)]
    return (still_open + settled)[:MOST_FOUND]


def _has_all(words: str, terms: list[Term]) -> bool:
    """Whether this text, as words with spaces between, has all terms."""
    spaced = f" {words} "
    return all(f" {' '.join(term.words)}{'' if term.is_prefix else ' '}" in spaced for term in terms)
