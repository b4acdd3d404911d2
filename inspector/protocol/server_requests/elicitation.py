"""`elicitation/create`: form and URL elicitations, form fields, requests for secrets.

Form fields are strings, numbers, booleans and choices, never nested. 2025-06-18 has the first of these,
2025-11-25 adds titled choices, multiple choices, and defaults for all. Anything else is no `FormField`;
the form may still be shown by its schema.

"Servers MUST NOT use form mode elicitation to request sensitive information" (2025-11-25). Detection is
by field names and words in the most common languages (passwords, keys, tokens, card numbers), so it only
warns.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import ClassVar

from inspector.base.json.values import (
    JSON,
    JSONObject,
    is_number,
    number_of,
    object_of,
    quote_names,
    quote_value,
    strings_of,
    text_of,
)
from inspector.base.redaction import Secrecy, secrecy
from inspector.base.web_link import read_link
from inspector.protocol.revisions import R3, R4, R5, Revision, is_between

ELICITATION = "elicitation/create"


@dataclass(frozen=True, slots=True)
class FormElicitation:
    """A form elicitation. `schema` is the server's, verbatim."""

    method: ClassVar[str] = ELICITATION
    message: str
    schema: JSONObject
    source: JSONObject  # the params, verbatim

    @property
    def properties(self) -> JSONObject:
        return object_of(self.schema, "properties") or {}

    @property
    def required(self) -> tuple[str, ...]:
        return strings_of(self.schema, "required")

    def fields(self) -> tuple[FormField, ...]:
        """Return the supported fields; others are only in the schema."""
        return tuple(field for field in _fields(self.properties) if isinstance(field, FormField))


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """A URL elicitation.

    `elicitation_id` is how 2025-11-25 reports completion later; otherwise "".
    """

    method: ClassVar[str] = ELICITATION
    message: str
    url: str
    elicitation_id: str
    source: JSONObject


def read_elicitation(params: JSONObject) -> FormElicitation | UrlElicitation:
    """Parse a request. Raises ValueError for an unknown mode, or a missing form or URL."""
    mode = params.get("mode", "form")
    if mode == "form":
        return _form(params)
    if mode == "url":
        return _url(params)
    raise ValueError(f'"mode" is {quote_value(mode)}; it must be form or url')


def _form(params: JSONObject) -> FormElicitation:
    schema = object_of(params, "requestedSchema")
    if schema is None:
        raise ValueError('"requestedSchema" is missing, or is not an object')
    if schema.get("type", "object") != "object":
        raise ValueError('the "type" of "requestedSchema" must be object')
    if not isinstance(schema.get("properties", {}), dict):
        raise ValueError('the "properties" of "requestedSchema" must be an object')
    return FormElicitation(text_of(params, "message"), schema, params)


def _url(params: JSONObject) -> UrlElicitation:
    url = text_of(params, "url")
    if not url:
        raise ValueError('"url" must be a non-empty string')
    return UrlElicitation(text_of(params, "message"), url, text_of(params, "elicitationId"), params)


def notes_on_form(request: FormElicitation, revision: Revision) -> Iterator[str]:
    yield from _about_message(request.message)
    if not is_between(revision, R3, R5):
        yield f"Elicitation was added in {R3}; this is {revision}."
    if "type" not in request.schema:
        yield "The form schema has no “type”; it must be object."
    if "properties" not in request.schema:
        yield "The form schema has no “properties”."
    undefined = [name for name in request.required if name not in request.properties]
    if undefined:
        yield f"Required, but not a field of the form: {quote_names(undefined)}."
    yield from _about_fields(request.properties, revision)


def _about_fields(properties: JSONObject, revision: Revision) -> Iterator[str]:
    """Yield one sentence per kind of fault, however many fields have it."""
    faults: dict[str, list[str]] = defaultdict(list)
    for name, field in zip(properties, _fields(properties), strict=True):
        for fault in _faults(field, revision):
            faults[fault].append(name)
    for fault, names in faults.items():
        many = "s" if len(names) > 1 else ""
        yield f"Field{many} {quote_names(names)}: {fault}."


def _fields(properties: JSONObject) -> Iterator[FormField | str]:
    """Yield each property as a field, or the reason why it is not supported."""
    for name, schema in properties.items():
        try:
            yield read_field(name, schema)
        except ValueError as exc:
            yield str(exc)


def _faults(field: FormField | str, revision: Revision) -> Iterator[str]:
    if isinstance(field, str):
        yield field
        return
    schema = field.source
    yield from _added_later(field, revision)
    if "enumNames" in schema:
        if is_between(revision, R4, R5):
            yield f"“enumNames” is deprecated since {R4}; use “oneOf” with titles"
        if not field.is_titled:
            yield "“enumNames” does not name every choice, so it is ignored"
    format = schema.get("format")
    if field.kind is FieldKind.TEXT and format is not None and format not in FORMATS:
        yield f"the format {quote_value(format)} is not allowed in a form ({', '.join(FORMATS)})"
    if "pattern" in schema:
        yield "“pattern” is not part of the form schemas in the specification"
    if "default" in schema and (problem := value_error(field, schema["default"])):
        yield f"the default is invalid: it {problem}"


def _added_later(field: FormField, revision: Revision) -> Iterator[str]:
    if is_between(revision, R4, R5):
        return
    if field.kind is FieldKind.CHOICES:
        yield f"multi-select was added in {R4}; this is {revision}"
    if "oneOf" in field.source:
        yield f"titled choices (“oneOf”) were added in {R4}; this is {revision}"
    if "default" in field.source and field.kind is not FieldKind.BOOLEAN:
        yield f"a default for this type was added in {R4}; this is {revision}"


def notes_on_url(request: UrlElicitation, revision: Revision) -> Iterator[str]:
    yield from _about_message(request.message)
    if not is_between(revision, R4, R5):
        yield f"URL elicitation was added in {R4}; this is {revision}."
    if revision is R4 and not request.elicitation_id:
        yield f"“elicitationId” is missing; {R4} requires it."
    if revision is R5 and "elicitationId" in request.source:
        yield f"“elicitationId” is no longer used in {R5}."
    reason = read_link(request.url).problem
    if reason:
        yield f"The URL cannot be opened: {reason}"


def _about_message(message: str) -> Iterator[str]:
    if not message:
        yield "“message” is missing; it must say what this is for."


FORMATS = ("email", "uri", "date", "date-time")

# Keywords of nested schemas, which the primitive subset excludes.
_NESTING = ("properties", "$ref", "$dynamicRef", "allOf", "not", "if", "patternProperties", "prefixItems")


class FieldKind(Enum):
    TEXT = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "single choice"
    CHOICES = "multiple choice"


@dataclass(frozen=True, slots=True)
class FormField:
    """A form field. `choices` are values and titles; the title defaults to the value."""

    name: str
    title: str
    kind: FieldKind
    choices: tuple[tuple[str, str], ...]
    is_titled: bool
    source: JSONObject

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for value, _ in self.choices)


def read_field(name: str, schema: JSON) -> FormField:
    """Parse a field. Raises ValueError with a short reason if a form may not have it."""
    if not isinstance(schema, dict):
        raise ValueError("the schema is not an object")
    nesting = next((keyword for keyword in _NESTING if keyword in schema), "")
    if nesting:
        raise ValueError(f"“{nesting}” is not allowed in a form")
    kind, choices, is_titled = _kind(schema)
    return FormField(name, text_of(schema, "title") or name, kind, choices, is_titled, schema)


_Kind = tuple[FieldKind, tuple[tuple[str, str], ...], bool]


def _kind(schema: JSONObject) -> _Kind:
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "array":
            return _array(schema)
        case "number" | "integer" | "boolean" as kind:
            return FieldKind(kind), (), False
        case "object":
            raise ValueError("nested; a form only allows primitive fields")
        case None:
            raise ValueError("the type is missing")
        case other:
            raise ValueError(f"the type {quote_value(other)} is not allowed in a form")


def _string(schema: JSONObject) -> _Kind:
    if "oneOf" in schema:
        return FieldKind.CHOICE, _titled(schema["oneOf"], "oneOf"), True
    if "anyOf" in schema:
        raise ValueError("“anyOf” is used where a form needs “oneOf”")
    if "enum" not in schema:
        return FieldKind.TEXT, (), False
    values = _values(schema["enum"])
    names = schema.get("enumNames")
    titles = [item for item in names if isinstance(item, str)] if isinstance(names, list) else []
    if len(titles) != len(values):
        return FieldKind.CHOICE, tuple((value, value) for value in values), False
    return FieldKind.CHOICE, tuple(zip(values, titles, strict=True)), True


def _array(schema: JSONObject) -> _Kind:
    items = schema.get("items")
    if not isinstance(items, dict):
        raise ValueError("an array of anything; a form only allows arrays of listed choices")
    # The older keyword is accepted too: it means the same.
    for keyword in ("anyOf", "oneOf"):
        if keyword in items:
            return FieldKind.CHOICES, _titled(items[keyword], keyword), True
    if "enum" not in items:
        raise ValueError("an array without choices; a form only allows arrays of listed choices")
    return FieldKind.CHOICES, tuple((value, value) for value in _values(items["enum"])), False


def _values(value: JSON) -> list[str]:
    values = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or not values or len(values) != len(value):
        raise ValueError("the choices (“enum”) are not an array of strings")
    return values


def _titled(value: JSON, keyword: str) -> tuple[tuple[str, str], ...]:
    branches = value if isinstance(value, list) else []
    pairs = [
        (constant, text_of(branch, "title") or constant)
        for branch in branches
        if isinstance(branch, dict) and isinstance(constant := branch.get("const"), str)
    ]
    if not pairs or len(pairs) != len(branches):
        raise ValueError(f"the choices (“{keyword}”) are not an array of titled strings")
    return tuple(pairs)


def value_error(field: FormField, value: JSON) -> str:
    """Return why a value is invalid for a field, as the end of a sentence; "" if it is valid.

    `pattern` is not checked: a hostile one takes forever, and the specification has none.
    """
    match field.kind:
        case FieldKind.TEXT:
            return _text_error(field.source, value)
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number_error(field, value)
        case FieldKind.BOOLEAN:
            return "" if isinstance(value, bool) else "must be true or false"
        case FieldKind.CHOICE:
            return "" if isinstance(value, str) and value in field.values else "must be one of the choices"
        case FieldKind.CHOICES:
            return _choices_error(field, value)


def _text_error(schema: JSONObject, value: JSON) -> str:
    if not isinstance(value, str):
        return "must be a string"
    minimum, maximum = number_of(schema, "minLength"), number_of(schema, "maxLength")
    if minimum is not None and len(value) < minimum:
        return f"must have at least {shown_number(minimum)} characters"
    if maximum is not None and len(value) > maximum:
        return f"must have at most {shown_number(maximum)} characters"
    format = text_of(schema, "format")
    return "" if _has_format(value, format) else f"must be {_FORMAT_EXAMPLES[format]}"


def _number_error(field: FormField, value: JSON) -> str:
    if not is_number(value):
        return "must be a number"
    if field.kind is FieldKind.INTEGER and isinstance(value, float) and not value.is_integer():
        return "must be an integer"
    minimum, maximum = number_of(field.source, "minimum"), number_of(field.source, "maximum")
    if minimum is not None and value < minimum:
        return f"must be at least {shown_number(minimum)}"
    return f"must be at most {shown_number(maximum)}" if maximum is not None and value > maximum else ""


def _choices_error(field: FormField, value: JSON) -> str:
    if not isinstance(value, list):
        return "must be an array"
    if any(not isinstance(item, str) or item not in field.values for item in value):
        return "must contain only the listed choices"
    minimum, maximum = number_of(field.source, "minItems"), number_of(field.source, "maxItems")
    if minimum is not None and len(value) < minimum:
        return f"must have at least {shown_number(minimum)} choices"
    return (
        f"must have at most {shown_number(maximum)} choices"
        if maximum is not None and len(value) > maximum
        else ""
    )


def shown_number(number: int | float) -> str:
    return quote_value(number)[1:-1]


_FORMAT_EXAMPLES = {
    "email": "an email address",
    "uri": "a URI, such as https://example.com",
    "date": "a date, such as 2026-07-28",
    "date-time": "a date and time, such as 2026-07-28T12:00:00Z",
}
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


def _has_format(value: str, format: str) -> bool:
    """Check a format: RFC 3339 for times, loosely for emails and URIs. Others pass."""
    match format:
        case "email":
            return _EMAIL.fullmatch(value) is not None
        case "uri":
            return _URI.fullmatch(value) is not None
        case "date":
            return _DATE.fullmatch(value) is not None and _is_date(value)
        case "date-time":
            found = _DATE_TIME.fullmatch(value)
            # Leap seconds are valid, but not for Python.
            return found is not None and _is_date(f"{found[1]}T{found[2].replace(':60', ':59')}")
        case _:
            return True


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return False
    return True


# A hostile form may have any number of nested fields, and this runs on the UI thread.
_MAX_FIELDS = 1_000
_MAX_TEXT_LENGTH = 500


@dataclass(frozen=True, slots=True)
class SecretField:
    """A field that seems to ask for a secret. `path` has several names only in a nested form.

    Nested forms violate the protocol.
    """

    path: tuple[str, ...]
    reason: str  # a sentence


# Short words in names, matched only as whole words.
_SECRET_NAME = re.compile(
    r"(?:^|[_.\s-])(?:pin|pincode|cvv2?|cvc2?|otp|totp|2fa|ssn|mnemonic|creditcard|cardnumber|privkey|sshkey"
    r"|mdp|pw|kennwort|contrasena|wachtwoord)(?:$|[_.\s-])",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

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
_PHRASES_WITHOUT_SPACES = "密码|密碼|口令|密钥|密鑰|信用卡|令牌|パスワード|暗証番号|秘密鍵|クレジットカード"
_MORE_PHRASES_WITHOUT_SPACES = "비밀번호|암호|신용카드|كلمة المرور|كلمة السر|סיסמה|סיסמא|पासवर्ड|รหัสผ่าน"
_SECRET_PHRASE = re.compile(
    rf"\b(?:{'|'.join(_PHRASES)})\b|{_PHRASES_WITHOUT_SPACES}|{_MORE_PHRASES_WITHOUT_SPACES}"
)  # matched against lower case: three times as fast


def secret_fields(schema: JSONObject) -> tuple[SecretField, ...]:
    """Return the fields of a schema that seem to ask for secrets, in form order."""
    found: list[SecretField] = []
    queue = deque(_properties((), schema))
    for _ in range(_MAX_FIELDS):
        if not queue:
            break
        path, field = queue.popleft()
        reason = secret_reason(path[-1], field)
        if reason:
            found.append(SecretField(path, reason))
        queue += _properties(path, field)
    return tuple(found)


def _properties(path: tuple[str, ...], schema: JSONObject) -> list[tuple[tuple[str, ...], JSONObject]]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    return [((*path, name), field) for name, field in properties.items() if isinstance(field, dict)]


def secret_reason(name: str, schema: JSONObject) -> str:
    """Return why a field seems to ask for a secret, as a sentence; "" if it does not."""
    if not _accepts_text(schema):
        return ""
    if text_of(schema, "format") == "password":
        return "It is a password field."
    if schema.get("writeOnly") is True:
        return "It is marked as write-only."
    if _is_secret_name(name):
        return f"Its name, {quote_value(name)}, is typical of secrets."
    title = text_of(schema, "title")
    if len(title.split()) <= 2 and _is_secret_name(title):  # not “Pin this message”
        return f"Its title, {quote_value(title)}, is typical of secrets."
    return _mentioned_secret(title, "title") or _mentioned_secret(
        text_of(schema, "description"), "description"
    )


def secret_in_message(message: str) -> str:
    """Return why a message seems to ask for a secret, as a sentence; "" if it does not."""
    return _mentioned_secret(message, "message", "The")


def _mentioned_secret(text: str, where: str, whose: str = "Its") -> str:
    found = _SECRET_PHRASE.search(text[:_MAX_TEXT_LENGTH].lower())
    return f"{whose} {where} mentions {quote_value(found[0])}." if found else ""


def _is_secret_name(name: str) -> bool:
    """True for a secret name. `key` and `session` alone are too common to count."""
    text = _CAMEL_CASE.sub("_", re.sub(r"\s+", "_", name[:_MAX_TEXT_LENGTH].strip()))
    if secrecy(text) is Secrecy.SURE or _SECRET_NAME.search(text) is not None:
        return True
    return _SECRET_PHRASE.search(re.sub(r"[_.-]+", " ", text.lower())) is not None


def _accepts_text(schema: JSONObject) -> bool:
    """False for booleans and choices, which hold no secret: “Show my password”."""
    is_choice = any(keyword in schema for keyword in ("enum", "oneOf", "const"))
    return not is_choice and schema.get("type") not in ("boolean", "array", "object")
