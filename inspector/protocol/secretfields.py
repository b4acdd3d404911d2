"""Which fields of a form ask for a secret, by their names and words.

"Servers MUST NOT use form mode elicitation to request sensitive information" (2025-11-25). Nobody can tell
for sure, so this only warns: passwords, keys, tokens and card numbers, in the languages most servers speak.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from inspector.base.jsonvalue import JSONObject
from inspector.base.redact import Secrecy, secrecy
from inspector.protocol.members import shown, text_of

# A hostile form may have any number of nested fields, and the window waits meanwhile.
_MOST_FIELDS = 1_000
_MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class SecretField:
    """A field that seems to ask for a secret. `path` has several names only in a nested form.

    Nested forms violate the protocol.
    """

    path: tuple[str, ...]
    reason: str  # a sentence


# Short words in names, matched only as whole words.
_NAMES = re.compile(
    r"(?:^|[_.\s-])(?:pin|pincode|cvv2?|cvc2?|otp|totp|2fa|ssn|mnemonic|creditcard|cardnumber|privkey|sshkey"
    r"|mdp|pw|kennwort|contrasena|wachtwoord)(?:$|[_.\s-])",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# Phrases in titles, descriptions and messages, long enough to be unambiguous.
_PHRASES = (
    r"pass(?:word|phrase|code)s?|passwd|credentials|client secret|secret (?:key|token|phrase)",
    r"(?:api|access|secret|private|signing|encryption|ssh|licen[sc]e)[ _-]?keys?",
    r"(?:access|auth|authentication|authori[sz]ation|bearer|api|refresh|session)[ _-]tokens?",
    r"(?:security|personal|login|github|gitlab|slack|bot)[ _-]tokens?|recovery (?:code|phrase)s?|seed phrase",
    r"(?:credit|debit|bank|payment)[ _-]cards?|card[ _-](?:number|no\.)|cvv2?|cvc2?",
    r"(?:security|verification|one[ -]time|2fa|mfa)[ _-](?:code|pin|pass(?:word|code))s?",
    r"pin[ _-](?:code|number)|social security (?:number|no\.)",
    r"passwor[dt]|kennwort|zugangsdaten|(?:geheimer|privater|api)[ -]schlüssel|kreditkarten\w*",
    r"mots? de passe|clé (?:api|privée|secrète|d['’]api)|carte (?:bancaire|de crédit)|code secret",
    r"contraseñas?|clave (?:api|privada|secreta|de acceso)|tarjeta de (?:crédito|débito)",
    r"senhas?|chave (?:de api|privada|secreta)|cartão de (?:crédito|débito)",
    r"chiave (?:api|privata|segreta)|carta di credito|parola d['’]ordine|parolă|parolanız\w*|şifre\w*",
    r"wachtwoord(?:en)?|creditcardnummer|lösenord|passord|adgangskode|salasana|hasł[oa]|heslo|jelszó",
    r"mật khẩu|kata sandi|парол[ьяюе]\w*|секретный ключ|ключ api|номер карты|κωδικός πρόσβασης",
)
# Scripts without spaces between words, or with affixes at both ends.
_SIGNS = "密码|密碼|口令|密钥|密鑰|信用卡|令牌|パスワード|暗証番号|秘密鍵|クレジットカード"
_MORE_SIGNS = "비밀번호|암호|신용카드|كلمة المرور|كلمة السر|סיסמה|סיסמא|पासवर्ड|รหัสผ่าน"
_WORDS = re.compile(
    rf"\b(?:{'|'.join(_PHRASES)})\b|{_SIGNS}|{_MORE_SIGNS}"
)  # matched against lower case: three times as fast


def secret_fields(schema: JSONObject) -> tuple[SecretField, ...]:
    """Return the fields of a schema that seem to ask for secrets, in form order."""
    found: list[SecretField] = []
    waiting = deque(_properties((), schema))
    for _ in range(_MOST_FIELDS):
        if not waiting:
            break
        path, field = waiting.popleft()
        reason = secret_reason(path[-1], field)
        if reason:
            found.append(SecretField(path, reason))
        waiting += _properties(path, field)
    return tuple(found)


def _properties(path: tuple[str, ...], schema: JSONObject) -> list[tuple[tuple[str, ...], JSONObject]]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    return [((*path, name), field) for name, field in properties.items() if isinstance(field, dict)]


def secret_reason(name: str, schema: JSONObject) -> str:
    """Return why a field seems to ask for a secret, as a sentence; "" if it does not."""
    if not _takes_text(schema):
        return ""
    if text_of(schema, "format") == "password":
        return "It is a field for a password."
    if schema.get("writeOnly") is True:
        return "It is marked as something that is never shown again."
    if _is_secret_name(name):
        return f"Its name, {shown(name)}, is a usual one for secrets."
    title = text_of(schema, "title")
    if len(title.split()) <= 2 and _is_secret_name(title):  # “Pin this message” is not
        return f"Its title, {shown(title)}, is a usual one for secrets."
    return _spoken_of(title, "title") or _spoken_of(text_of(schema, "description"), "description")


def secret_in_message(message: str) -> str:
    """Return why a message seems to ask for a secret, as a sentence; "" if it does not."""
    return _spoken_of(message, "message", "The")


def _spoken_of(text: str, where: str, whose: str = "Its") -> str:
    found = _WORDS.search(text[:_MOST_TEXT].lower())
    return f"{whose} {where} speaks of {shown(found[0])}." if found else ""


def _is_secret_name(name: str) -> bool:
    """True for a secret name. `key` and `session` alone are too common to count."""
    words = _CAMEL.sub("_", re.sub(r"\s+", "_", name[:_MOST_TEXT].strip()))
    if secrecy(words) is Secrecy.SURE or _NAMES.search(words) is not None:
        return True
    return _WORDS.search(re.sub(r"[_.-]+", " ", words.lower())) is not None


def _takes_text(schema: JSONObject) -> bool:
    """False for booleans and choices, which hold no secret: “Show my password”."""
    is_choice = any(keyword in schema for keyword in ("enum", "oneOf", "const"))
    return not is_choice and schema.get("type") not in ("boolean", "array", "object")
