"""A push message is readable by one browser and signed by one site, as the standards have it."""

import json
from base64 import b64encode
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from rooms.models import Notice, Question
from rooms.notifications import content
from rooms.notifications.channels import push, push_encryption
from tests.harness.receivers import decoded, decrypted, encoded

# RFC 8291, section 5 and appendix A.
BROWSER_KEY = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
BROWSER_POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
OWN_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
OWN_POINT = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
AUTH_SECRET = decoded("BTBZMqHH6r4Tts7J_aSIgg")
SALT = decoded("DGv6ra1nlYgDCS1FRnbzlw")
TEXT = b"When I grow up, I want to be a watermelon"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w"
    "EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


@pytest.fixture
def browser_key() -> ec.EllipticCurvePrivateKey:
    return push_encryption.private_key(BROWSER_KEY)


def test_the_example_of_the_standard(browser_key: ec.EllipticCurvePrivateKey) -> None:
    browser_point = push_encryption.public_key(BROWSER_POINT)
    assert browser_point == browser_key.public_key()
    own_key = push_encryption.private_key(OWN_KEY)
    body = push_encryption.encrypt(TEXT, browser_point, AUTH_SECRET, own_key=own_key, salt=SALT)
    assert encoded(body) == BODY
    assert decrypted(decoded(BODY), browser_key, AUTH_SECRET) == TEXT


def test_every_message_has_a_key_and_a_salt_of_its_own(browser_key: ec.EllipticCurvePrivateKey) -> None:
    bodies = {push_encryption.encrypt(TEXT, browser_key.public_key(), AUTH_SECRET) for _ in range(10)}
    assert len({body[:16] for body in bodies}) == len({body[21:86] for body in bodies}) == 10
    assert {decrypted(body, browser_key, AUTH_SECRET) for body in bodies} == {TEXT}


def test_another_browser_or_secret_reads_nothing(browser_key: ec.EllipticCurvePrivateKey) -> None:
    body = push_encryption.encrypt(TEXT, browser_key.public_key(), AUTH_SECRET)
    with pytest.raises(InvalidTag):
        decrypted(body, ec.generate_private_key(ec.SECP256R1()), AUTH_SECRET)
    with pytest.raises(InvalidTag):
        decrypted(body, browser_key, bytes(16))


def test_a_message_is_as_long_as_push_services_take(browser_key: ec.EllipticCurvePrivateKey) -> None:
    longest = b"x" * push_encryption.LONGEST_TEXT
    body = push_encryption.encrypt(longest, browser_key.public_key(), AUTH_SECRET)
    assert len(body) == 4096
    assert decrypted(body, browser_key, AUTH_SECRET) == longest
    with pytest.raises(push_encryption.TooLong):
        push_encryption.encrypt(longest + b"x", browser_key.public_key(), AUTH_SECRET)


def test_the_longest_notice_fits(question: Question, ana: Any) -> None:
    question.room.name = "🏠" * 100
    question.agent_name = "🤖" * 80
    for kind, length in ((Notice.Kind.ASKED, 2000), (Notice.Kind.ESCALATED, 2000), (Notice.Kind.ASKED, 300)):
        options = [{"label": f"{number}" + "🗄" * 59, "description": "", "preview": ""} for number in range(4)]
        question.prompts[0] |= {"header": "🗄" * 80, "question": "🤔" * length, "options": options}
        notice = Notice(kind=kind, question=question, user=ana)
        message = push.payload(content.content_of(notice), push.actions_of(notice))
        assert ("actions" in message) == (length == 300)
        assert len(json.dumps(message, ensure_ascii=False).encode()) <= push_encryption.LONGEST_TEXT


# ---- our signature ---------------------------------------------------------------------------------------


def parts_of(header: str) -> tuple[str, bytes, Any]:
    """What is signed, the signature, and the claims."""
    scheme, _, fields = header.partition(" ")
    assert scheme == "vapid"
    token = dict(field.split("=", 1) for field in fields.split(","))["t"]
    signed, _, signature = token.rpartition(".")
    return signed, decoded(signature), json.loads(decoded(signed.partition(".")[2]))


@pytest.mark.parametrize("attempt", range(20))  # a number of a signature may begin with zeros
def test_a_signature_can_be_checked_with_the_key_beside_it(attempt: int) -> None:
    claims = {
        "aud": "https://push.example.net",
        "exp": 1453523768 + attempt,
        "sub": "mailto:push@example.com",
    }
    header = push_encryption.authorization(push_encryption.private_key(OWN_KEY), claims)
    assert header.endswith(f",k={OWN_POINT}")
    signed, signature, said = parts_of(header)
    assert json.loads(decoded(signed.partition(".")[0])) == {"typ": "JWT", "alg": "ES256"}
    assert said == claims
    assert len(signature) == 64
    der = encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))
    key = push_encryption.public_key(OWN_POINT)
    key.verify(der, signed.encode(), ec.ECDSA(SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(der, signed.encode() + b"x", ec.ECDSA(SHA256()))


def test_a_key_may_be_written_in_either_alphabet_with_or_without_padding() -> None:
    number = decoded(OWN_KEY)
    same = {OWN_KEY, f"{OWN_KEY}=", b64encode(number).decode(), b64encode(number).decode().rstrip("=")}
    points = {push_encryption.point_of(push_encryption.private_key(text).public_key()) for text in same}
    assert points == {decoded(OWN_POINT)}


@pytest.mark.parametrize("text", ["", "AAAA", "_" * 43, "x", "é"])
def test_what_is_no_key_is_none(text: str, settings: Any) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "VAPID_PRIVATE_KEY": text}
    assert push.public_key() == ""
