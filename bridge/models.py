"""Tables of the ways to sign in: accounts of the provider, second factors, sessions with their devices.

They exist whether or not the site uses them, and are empty then.
"""

import secrets
import time
from base64 import b32encode
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.utils import timezone
from django_otp.models import Device
from django_otp.oath import TOTP

from rooms.crypto import CannotDecrypt, decrypt, encrypt, is_keyed_hash_of, keyed_hash, re_encrypt
from rooms.notifications.channels.push import label_of

# What all authenticator apps know: SHA-1, six digits, 30 seconds (RFC 6238, and 160 bits as it recommends).
STEP_SECONDS = 30
DIGITS = 6
SECRET_BYTES = 20
# One step to either side: clocks of phones are exact to some seconds, and people need some to type.
TOLERANCE_STEPS = 1
# As many as others give, on one small piece of paper.
RECOVERY_CODES = 10
# 50 random bits each: far beyond what the limit of guesses lets anyone try.
RECOVERY_CODE_LENGTH = 10
# No vowels, so no words; and nothing that looks like something else.
RECOVERY_ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
PURPOSE_SECRET = "bridge.authenticator"  # noqa: S105 (a name)
PURPOSE_RECOVERY = "bridge.recovery_code"


class CompanyAccount(models.Model):
    """The account of a person at the OpenID provider, by which single sign-on finds the user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    issuer = models.CharField(max_length=255)
    # Unlike names and addresses, a provider never gives it to another person.
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="bridge_company_account_unique")
        ]


class UserSession(models.Model):
    """What the list of own sessions shows of a session. It is deleted with it."""

    session = models.OneToOneField(Session, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    user_agent = models.CharField(max_length=300)
    since = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    @property
    def device(self) -> str:
        """Browser and system, in the language of the reader."""
        return label_of(self.user_agent)

    @property
    def age_seconds(self) -> int:
        return int((timezone.now() - self.since).total_seconds())

    @property
    def unseen_seconds(self) -> int:
        return int((timezone.now() - self.seen_at).total_seconds())


class Authenticator(Device):
    """The authenticator app of a person: time-based codes of six digits. Its secret is stored encrypted."""

    secret = models.TextField()
    # The time step of the last code: no code works twice.
    last_step = models.BigIntegerField(default=0)
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user"], name="bridge_one_authenticator")]

    @classmethod
    def begin(cls, user: Any, secret: str | None = None) -> "Authenticator":
        """One with a new secret, or with that of its setup page. It is stored when it is confirmed."""
        secret = secret or encrypt(PURPOSE_SECRET, secrets.token_bytes(SECRET_BYTES).hex())
        return cls(user=user, name="app", secret=secret)

    @property
    def _key(self) -> bytes:
        return bytes.fromhex(decrypt(PURPOSE_SECRET, self.secret))

    @property
    def key_to_type(self) -> str:
        """The secret as apps take it from the keyboard, in groups of four."""
        key = b32encode(self._key).decode()
        return " ".join(key[start : start + 4] for start in range(0, len(key), 4))

    def address(self, site: str) -> str:
        """The otpauth:// address that a QR code has; `site` is what the app shows."""
        label = quote(f"{site}:{self.user.get_username()}")
        query = urlencode({"secret": b32encode(self._key).decode(), "issuer": site}, quote_via=quote)
        return f"otpauth://totp/{label}?{query}"

    def verify_token(self, token: str) -> bool:
        """Whether this is a current code that was not used before. Of equal requests one succeeds."""
        typed = "".join(token.split())
        if not (typed.isascii() and typed.isdigit() and len(typed) == DIGITS):
            return False
        try:
            totp = TOTP(self._key, STEP_SECONDS)
            secret = re_encrypt(PURPOSE_SECRET, self.secret)  # so that an old SECRET_KEY comes to an end
        except CannotDecrypt:
            return False
        totp.time = time.time()
        if not totp.verify(int(typed), TOLERANCE_STEPS, self.last_step + 1):
            return False
        self.last_step = step = totp.t()
        self.secret = secret
        if self._state.adding:  # it is being set up
            return True
        unused = Authenticator.objects.filter(pk=self.pk, last_step__lt=step)
        return unused.update(last_step=step, secret=secret) == 1

    def use_recovery_code(self, code: str) -> bool:
        """Whether this is one of the recovery codes, which ends with this use."""
        typed = "".join(code.split()).replace("-", "").lower()
        for stored in self.recovery_codes.all():
            if is_keyed_hash_of(PURPOSE_RECOVERY, typed, stored.digest):
                return self.recovery_codes.filter(pk=stored.pk).delete()[0] == 1
        return False

    def new_recovery_codes(self) -> list[str]:
        """Replace all recovery codes. Only keyed hashes are stored: show these now or never."""
        codes = [
            "".join(secrets.choice(RECOVERY_ALPHABET) for _ in range(RECOVERY_CODE_LENGTH))
            for _ in range(RECOVERY_CODES)
        ]
        with transaction.atomic():
            self.recovery_codes.all().delete()
            RecoveryCode.objects.bulk_create(
                RecoveryCode(authenticator=self, digest=keyed_hash(PURPOSE_RECOVERY, code)) for code in codes
            )
        return [f"{code[:5]}-{code[5:]}" for code in codes]

    def confirm(self) -> list[str]:
        """Store it: from now on sign-ins need it; the recovery codes."""
        with transaction.atomic():
            # Earlier versions stored it before; and the one of another browser is not replaced.
            Authenticator.objects.filter(user=self.user, confirmed=False).delete()
            self.save(force_insert=True)
            return self.new_recovery_codes()

    @classmethod
    def of(cls, user: Any) -> "Authenticator | None":
        """The confirmed authenticator of this person."""
        return cls.objects.filter(user=user, confirmed=True).first()


class RecoveryCode(models.Model):
    """A code that replaces the authenticator app once, stored as a keyed hash."""

    authenticator = models.ForeignKey(Authenticator, models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)
