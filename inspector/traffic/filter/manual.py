"""The manual of the filter language: the docstring of `parser.py` plus the field table.

`resources/help/filters.md` is the Markdown that `manual` returns; a test compares the two. So nothing but
the manual may be in that docstring.
"""

from __future__ import annotations

from inspector.traffic.filter.fields import FIELDS, Field
from inspector.traffic.filter.predicates import Type

_PLACE = "(The table of fields.py.)"

_TEXT = r"""A filter says which rows of the traffic to show. It is one or more terms:

    method:tools/call and not status:error and dur>500ms and args.path ~ "^/etc" and size>10k

## Examples

| filter | shows |
|---|---|
| `status:error or problem:*` | what went wrong |
| `tool=add_issue` | calls of one tool, and their answers |
| `dir:in kind:request` | what the server asks of us |
| `dur>1s not method:subscriptions/listen` | slow calls |
| `status:waiting time<-30s` | what has been waiting for half a minute |
| `http.status in (401, 403)` | HTTP exchanges that were refused, with the frames on them |
| `args.path ~ "\.\./"` | calls with a path that leads out of its folder |

## Terms

- **A comparison** is a word, an operator and a value: `method:tools/call`, `size>10k`. There may be spaces
  around the operator: `dur > 500ms`. A value with spaces in it needs quotes: `server:"my server"`.
- **Free text** is anything else: `timeout`, `"not found"`. It is searched in the body, the method, the
  subject and the problem of a row. A word of the language alone is free text too: `error` finds every row
  that has these letters, `status:error` those that failed.

## And, or, not

`and`, `or`, `not` and parentheses combine terms. Terms side by side mean `and`; `not` binds closer than
`and`, `and` closer than `or`:

    tool:search not status:ok
    (server:github or server:gitlab) and dur>1s

## Operators

- `:` contains, whatever the case: `method:tools`. With `*` for any letters it must fit the whole:
  `method:tools/*`. For numbers, sizes, durations and ids it means `=`.
- `=` is exactly; `!=` is not. `x!=5` is `not x=5`, so rows without any x are shown.
- `>` `<` `>=` `<=` more, less, at least, at most.
- `~` a regular expression (Python's) is found in it: `tool ~ "^(get|list)_"`. Only the first 65,536
  characters of a value are searched. A repeat of what fits in several ways, such as `(a+)+` or `(a|ab)*`,
  is refused: it could take forever.
- `in` is one of: `kind in (result, error)`.

## Words

(The table of fields.py.)

## Values

- **Text** needs quotes when it has spaces, quotes or parentheses in it, begins with an operator, or is
  `and`, `or` or `not`. Between quotes, `\"` is a quote, `\\` a backslash, `\n`, `\r` and `\t` a line feed,
  carriage return and tab, and `\u00e9` is é; before any other letter a backslash is just a backslash, so
  `"\d+"` can be written as it is. Quotes make no other difference: `id=7` and `id="7"` are the same.
- **Durations** have a unit: `ns`, `us`, `ms`, `s`, `m` (minutes, also `min`), `h`, `d`.
- **Sizes** are bytes, or have a unit: `k`, `M`, `G` (also `kB`, `MB`, `GB`) count in 1000s, `KiB`, `MiB`,
  `GiB` in 1024s. So `10k` is 10,000 bytes. Upper and lower case are one.
- **Times** are of a day (`14:03`, `14:03:07.482`), of a date (`2026-11-16`, `2026-11-16T14:03`, with `Z` or
  `+01:00` for another zone than yours), or before now (`-5m`). A time of day means that time on every day.
  `>` and `<` compare with its first moment; `time:14:03` is the whole minute, `time:2026-11-16` the whole
  day.
- **Fixed values** (of `dir`, `kind`, `status`, `mark`, `era`) are checked, so that a slip of the pen is
  told.

## Paths

`params`, `args`, `result`, `error` and `body` begin a path into the message:

    params.name=search
    args.items[0].id>100
    result.content[*].text ~ "denied"
    params._meta."io.modelcontextprotocol/related-task".taskId:*

`.name` is a member, `[0]` an item, `[-1]` the last one, `[*]` (or `[]`, or `.*`) each of them. Names with
dots or spaces stand in quotes. A path that leads to several values fits when one of them does;
`params.cursor:*` fits whenever there is a value at all.

Strings compare as text, numbers as numbers, `true`, `false` and `null` as these words; `:` on an array or
an object looks into its JSON. `>` and `<` compare numbers with a number (`args.limit>10k` works too),
strings with any other text.

In a batch, each message is looked at. Paths, `code` and `task` look only into bodies of up to 1 MiB; what
cannot be read as JSON has no values.

## Free text and `text`

Letters are found whatever their case, and also where JSON spells them as an escape: `é` finds `\u00e9`,
`a/b` finds `a\/b`. There are no wildcards: `*` is a `*`. Bodies are searched whole, whatever their size.
"""


def manual() -> str:
    """Return the whole manual, with a heading."""
    return f"# Filters\n\n{_TEXT.strip().replace(_PLACE, words_table())}\n"


def words_table() -> str:
    """Return the table of fields: type, meaning and example."""
    rows = ["| field | takes | meaning | example |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, FIELDS.values())])


def _row(field: Field) -> str:
    return f"| `{field.word}` | {_takes(field)} | {field.description} | `{field.example}` |"


def _takes(field: Field) -> str:
    if field.type is Type.CHOICE:
        return ", ".join(field.choices)
    return str(field.type.value)
