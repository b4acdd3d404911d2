"""The manual of the filter language: a text, with the field table inserted.

`resources/help/filters.md` is the Markdown that `manual` returns; a test compares the two.
"""

from __future__ import annotations

from inspector.traffic.filter.fields import FIELDS, Field
from inspector.traffic.filter.predicates import Type

_TABLE_PLACEHOLDER = "(The table of fields.py.)"

_TEXT = r"""A filter selects the rows of the traffic to show. It has one or more terms:

    method:tools/call and not status:error and dur>500ms and args.path ~ "^/etc" and size>10k

## Examples

| filter | shows |
|---|---|
| `status:error or finding:*` | what went wrong |
| `tool=add_issue` | calls of one tool, and their responses |
| `dir:in kind:request` | server requests |
| `dur>1s not method:subscriptions/listen` | slow calls |
| `status:pending time<-30s` | requests that have been pending for half a minute |
| `status in (cancelled, "timed out")` | requests that ended without a response |
| `http.status in (401, 403)` | HTTP exchanges that were refused, with the messages they carried |
| `args.path ~ "\.\./"` | calls with path traversal (`../`) |

## Terms

- **A comparison** is a field, an operator and a value: `method:tools/call`, `size>10k`. There may be spaces
  around the operator: `dur > 500ms`. A value with spaces in it needs quotes: `server:"my server"`.
- **Free text** is anything else: `timeout`, `"not found"`. It is matched against the body, the method,
  the subject and the finding of a row. A field name or a value alone is free text, too: `error` finds every
  row that contains these letters, `status:error` the requests that failed.

## And, or, not

`and`, `or`, `not` and parentheses combine terms. Adjacent terms are combined with `and`. `not` binds tighter
than `and`, `and` tighter than `or`:

    tool:search not status:ok
    (server:github or server:gitlab) and dur>1s

## Operators

- `:` contains, ignoring case: `method:tools`. With `*` for any characters, the whole value must match:
  `method:tools/*`. For numbers, sizes, durations and IDs it means `=`.
- `=` equals; `!=` does not equal. `x!=5` is `not x=5`, so rows without any x match.
- `>` `<` `>=` `<=` compare: greater, less, at least, at most.
- `~` matches a regular expression (Python syntax) anywhere in the value: `tool ~ "^(get|list)_"`. Only the
  first 65,536 characters of a value are searched. Patterns with ambiguous repetition, such as `(a+)+` or
  `(a|ab)*`, are rejected: they could take exponential time.
- `in` equals one of several values: `kind in (result, error)`.

## Fields

(The table of fields.py.)

## Values

- **Text** needs quotes if it contains spaces, quotes or parentheses, begins with an operator, or is `and`,
  `or` or `not`. Between quotes, `\"` is a quote, `\\` a backslash, `\n`, `\r` and `\t` a line feed,
  carriage return and tab, and `\u00e9` is é; before any other character a backslash is literal, so
  `"\d+"` needs no escaping. Quotes make no other difference: `id=7` and `id="7"` are the same.
- **Durations** have a unit: `ns`, `us`, `ms`, `s`, `m` (minutes, also `min`), `h`, `d`.
- **Sizes** are bytes, or have a unit: `k`, `M`, `G` (also `kB`, `MB`, `GB`) count in 1000s, `KiB`, `MiB`,
  `GiB` in 1024s. So `10k` is 10,000 bytes. Case does not matter.
- **Times** are a time of day (`14:03`, `14:03:07.482`), a date (`2026-11-16`, `2026-11-16T14:03`, with `Z`
  or `+01:00` for a time zone other than yours), or relative to now (`-5m`). A time of day means that time on
  every day. `time:14:03` is the whole minute, `time:2026-11-16` the whole day; `>` and `<` compare with the
  start of that period.
- **Fixed values** (of `dir`, `kind`, `status`, `mark`, `mode`) are checked, so that typos are reported.

## Paths

`params`, `args`, `result`, `error` and `body` begin a path into the message:

    params.name=search
    args.items[0].id>100
    result.content[*].text ~ "denied"
    params._meta."io.modelcontextprotocol/related-task".taskId:*

`.name` is a property, `[0]` an item, `[-1]` the last one, `[*]` (or `[]`, or `.*`) each of them. Names with
dots or spaces need quotes. A path that leads to several values matches if one of them does;
`params.cursor:*` matches if there is any value.

Strings are compared as text, numbers as numbers, `true`, `false` and `null` as literals; `:` on an array or
an object searches its JSON text. `>` and `<` compare numbers with a number (`args.limit>10k` works too), and
strings with any other text.

In a batch, each message is checked. Paths, `code` and `task` only read bodies of up to 1 MiB; a body that is
not JSON has no values.

## Free text and `text`

Case does not matter, and escapes in JSON are found, too: `é` finds `\u00e9`, `a/b` finds `a\/b`. There
are no wildcards: `*` matches a literal asterisk. Bodies are searched in full, whatever their size.
"""


def manual() -> str:
    """Return the whole manual, with a heading."""
    return f"# Filter syntax\n\n{_TEXT.strip().replace(_TABLE_PLACEHOLDER, _fields_table())}\n"


def _fields_table() -> str:
    """Return the table of fields: type, meaning and example."""
    rows = ["| field | type | meaning | example |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, FIELDS.values())])


def _row(field: Field) -> str:
    return f"| `{field.name}` | {_type(field)} | {field.description} | `{field.example}` |"


def _type(field: Field) -> str:
    if field.type is Type.CHOICE:
        return ", ".join(field.choices)
    return str(field.type.value)
