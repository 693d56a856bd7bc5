"""The grammar of queries: SQL as DuckDB reads it, with what tensors need.

What differs from DuckDB: subscripts are NumPy's (``x[10:20, ::2, -1]``, ``x[..., 0]``), so a cast
is always written CAST; a source may be a URL and carry a VERSION; three clauses follow LIMIT, in
the order written (ARRANGE BY, SAMPLE BY, EXPAND BY); functions keep the names they were written
with, known to the parser or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Parser: Any = DuckDB.parser_class
_Generator: Any = DuckDB.generator_class

_PARSED_APART = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")
"""Functions with words between their arguments."""

AT = "at"
"""Key of a parameter's notes: where its ``?`` is in the text."""

WRITTEN = "written"
"""Key of a type's notes: its name as it is in the text."""

WORDY = "wordy"
"""Key of a list's notes: that it is written ARRAY[…], which might also be a column's item."""

WEIGHTS = ("MAX_WEIGHT", "SUM_WEIGHT")
"""Functions of ``condition: weight`` pairs."""

UNGROUP = "ungroup"
"""Argument of a SELECT's node: the lists that UNGROUP BY splits into rows."""

CLAUSES = "clauses"
"""Argument of a SELECT's node: what follows LIMIT, in the order written."""

_TURNS = (
    (TokenType.WHERE,),
    (TokenType.GROUP_BY,),
    (TokenType.HAVING,),
    (TokenType.WINDOW, TokenType.QUALIFY),
    (TokenType.ORDER_SIBLINGS_BY,),
    (TokenType.ORDER_BY,),
    (TokenType.LIMIT, TokenType.FETCH, TokenType.OFFSET),
    (TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
)
"""Clauses in the order in which they stand."""


_LENT = (
    TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.ORDER_SIBLINGS_BY,
)  # fmt: skip
"""Clauses of other databases, in whose places those of this language are."""


_BEFORE_CALLS = {
    TokenType.SELECT, TokenType.L_PAREN, TokenType.COMMA, TokenType.GROUP_BY, TokenType.ORDER_BY,
    TokenType.DISTINCT,
}  # fmt: skip
"""What ALL may stand behind as a word of SQL; in front of a parenthesis it is a function there."""


NAMED = {"limit", "offset", "locks", "sample", "group"}
"""Clauses of which an error may name the whole, so that its place is their first word."""


def _note_start(e: Any, first: Any) -> None:
    """Note where in the text an expression starts, unless the parser has."""
    if isinstance(e, exp.Expression):
        e.meta.setdefault("start", first.start)


def _in_turn(token: TokenType, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the parser of a clause that refuses behind it what belongs before it."""
    turn = next((at for at, tokens in enumerate(_TURNS) if token in tokens), 0)
    earlier = {token for tokens in _TURNS[:turn] for token in tokens}

    def parse_clause(parser: Any) -> Any:
        first = parser._curr
        name, found = first.text.upper(), parse(parser)
        parts = found[1] if isinstance(found[1], list) else [found[1]]
        for part in parts if found[0] in NAMED else ():
            _note_start(part, first)
        if parser._match_set(earlier, advance=False):
            parser.raise_error(f"{parser._curr.text.upper()} stands before {name}")
        return found

    return parse_clause


class Arrange(exp.Expression):
    """``ARRANGE BY expr, …``: rows of equal values together."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Sample(exp.Expression):
    """``SAMPLE BY weight [REPLACE [TRUE | FALSE]] [LIMIT n | n PERCENT] [SEED n]``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "replace": False,
        "limit": False,
        "percent": False,
        "seed": False,
    }


class Expand(exp.Expression):
    """``EXPAND BY before, after``: the rows around each row."""

    arg_types: ClassVar[dict[str, bool]] = {"before": True, "after": True}


class Ellipsis(exp.Expression):
    """``...`` in a subscript."""

    arg_types: ClassVar[dict[str, bool]] = {}


def check_extensible(node: Callable[[], object]) -> None:
    """Refuse the compiled build of sqlglot, which takes no nodes and grammars of others.

    Its classes allow no subclasses in Python: https://github.com/tobymao/sqlglot/issues/7923.

    Raises
    ------
    MissingPackageError
        When a node of ours cannot be made.
    """
    try:
        node()
    except TypeError as error:
        raise MissingPackageError(
            "Queries need sqlglot in Python, but its compiled build is installed, too, and does "
            "not take other grammars. Remove that: pip uninstall sqlglotc."
        ) from error


check_extensible(Ellipsis)


_OF_JOINS = frozenset({*_Parser.JOIN_METHODS, *_Parser.JOIN_SIDES, *_Parser.JOIN_KINDS})
"""Words before JOIN that say which rows it gives."""

_OTHERS = {"<=>"}
"""Operators that mean one thing in some databases and another in others: none here."""


class Lakes(DuckDB):
    """The dialect of lakes."""

    INDEX_OFFSET = 0

    class Tokenizer(DuckDB.Tokenizer):
        """Words that DuckDB does not have."""

        # $a,$b are two parameters, not a text that begins with $a,$
        HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                k: t
                for k, t in DuckDB.Tokenizer.KEYWORDS.items()
                if t not in _LENT and k not in _OTHERS
            },
            "ARRANGE BY": TokenType.SORT_BY,
            "SAMPLE BY": TokenType.CLUSTER_BY,
            "EXPAND BY": TokenType.DISTRIBUTE_BY,
            "UNGROUP BY": TokenType.ORDER_SIBLINGS_BY,
        }

    class Generator(_Generator):  # type: ignore[misc]
        """Text of what DuckDB does not have, for messages and names."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **_Generator.TRANSFORMS,
            Ellipsis: lambda _self, _e: "...",
            exp.Array: lambda self, e: f"[{self.expressions(e, flat=True)}]",
        }

    class Parser(_Parser):  # type: ignore[misc]
        """Grammar of subscripts, sources and clauses."""

        FUNC_TOKENS: ClassVar[set[TokenType]] = {
            *_Parser.FUNC_TOKENS,
            TokenType.UNIQUE,
        }
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {  # but LIST: ``LIST(x)[0]`` is an item
            "ARRAY": exp.Array,
        }
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            **{name: _Parser.FUNCTION_PARSERS[name] for name in _PARSED_APART},
            "MAX_WEIGHT": lambda self: self._weights("MAX_WEIGHT"),
            "SUM_WEIGHT": lambda self: self._weights("SUM_WEIGHT"),
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: parser
            for name, parser in _Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in {"CASE", "IF"}
        }
        PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {
            **_Parser.PLACEHOLDER_PARSERS,
            TokenType.PLACEHOLDER: lambda self: self._question(),
        }
        COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
            token: parser
            for token, parser in _Parser.COLUMN_OPERATORS.items()
            if token == TokenType.DOT
        }
        QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
            token: _in_turn(token, parser)
            for token, parser in {
                **_Parser.QUERY_MODIFIER_PARSERS,
                TokenType.ORDER_SIBLINGS_BY: lambda self: (UNGROUP, self._ungroup()),
                TokenType.SORT_BY: lambda self: (CLAUSES, self._clause(self._arrange)),
                TokenType.CLUSTER_BY: lambda self: (CLAUSES, self._clause(self._sample)),
                TokenType.DISTRIBUTE_BY: lambda self: (CLAUSES, self._clause(self._expand)),
            }.items()
        }

        def _question(self) -> exp.Expr:
            """Read a ``?``, and note where in the text it is: that is its number."""
            found = exp.Placeholder()
            found.meta[AT] = self._prev.start
            return found

        def _parse_lambda(self, alias: bool = False) -> Any:
            """Read ``DISTINCT x, y`` as two arguments, of which the first is DISTINCT."""
            if not self._match(TokenType.DISTINCT):
                return super()._parse_lambda(alias)
            distinct = exp.Distinct(expressions=[self._parse_disjunction()])
            return self._parse_order(distinct)

        def _weights(self, name: str) -> exp.Expr:
            """Parse ``condition: weight, …``, the pairs as slices."""
            return exp.Anonymous(this=name, expressions=self._parse_csv(self._weight))

        def _weight(self) -> exp.Expr:
            condition = self._parse_disjunction()
            if not self._match(TokenType.COLON):
                self.raise_error("Expected condition: weight")
            weight = self._parse_disjunction()
            if condition is None or weight is None:
                self.raise_error("Expected condition: weight")
            return exp.Slice(this=condition, expression=weight)

        def _ungroup(self) -> list[exp.Expr]:
            self._advance()
            found = self._parse_csv(self._parse_disjunction)
            if not found:
                self.raise_error("Expected columns, or SPLIT, after UNGROUP BY")
            return list(found)

        def _clause(self, parse: Callable[[], exp.Expr]) -> list[exp.Expr]:
            """Parse this clause, and the others that follow it."""
            self._advance()
            found = [parse()]
            parsers = {
                TokenType.SORT_BY: self._arrange,
                TokenType.CLUSTER_BY: self._sample,
                TokenType.DISTRIBUTE_BY: self._expand,
            }
            while self._curr and self._curr.token_type in parsers:
                parse = parsers[self._curr.token_type]
                self._advance()
                found.append(parse())
            return found

        def _arrange(self) -> exp.Expr:
            return Arrange(expressions=self._parse_csv(self._parse_disjunction))

        def _sample(self) -> exp.Expr:
            weight = self._parse_disjunction()
            if weight is None:
                self.raise_error("Expected a weight after SAMPLE BY")
            replace = self._match_text_seq("REPLACE") and not self._match(TokenType.FALSE)
            if replace:
                self._match(TokenType.TRUE)
            limit, percent, seed = None, False, None
            while True:  # in either order
                if limit is None and self._match(TokenType.LIMIT):
                    limit = self._count()
                    percent = self._match_texts(("PERCENT",)) or self._match(TokenType.PERCENT)
                elif seed is None and self._match_text_seq("SEED"):
                    seed = self._count()
                else:
                    break
            return Sample(
                this=weight, replace=replace, limit=limit, percent=bool(percent), seed=seed
            )

        def _expand(self) -> exp.Expr:
            before = self._count()
            self._match(TokenType.COMMA)
            after = self._count()
            if before is None or after is None:
                self.raise_error("Expected EXPAND BY before, after: two numbers of rows")
            return Expand(before=before, after=after)

        def _count(self) -> Any:
            return self._parse_primary() or self._parse_placeholder()

        def _parse_ordered(self, parse_method: Any = None) -> Any:
            """Read ALL as all items where it is the bare word, not a column or call named so."""
            term: Any = None

            def parse() -> Any:
                nonlocal term
                term = parse_method() if parse_method else self._parse_disjunction()
                return term

            found = super()._parse_ordered(parse)
            if found is not None and not _is_bare_word(term):
                found.set("this", term)
            return found

        def _parse_bracket(self, this: Any = None) -> Any:
            """Read ARRAY[…] as a list where it is the bare word, not a column or text named so."""
            if this is None or this.name.upper() not in self.ARRAY_CONSTRUCTORS:
                return super()._parse_bracket(this)
            if _is_bare_word(this):
                made = found = super()._parse_bracket(this)
                while isinstance(made, exp.Bracket):
                    made = made.this
                made.meta[WORDY] = True
                return found
            stand_in = exp.Null()
            found = super()._parse_bracket(stand_in)
            if found is stand_in:
                return this
            stand_in.replace(this)
            return found

        def _parse_alias(self, this: Any, explicit: bool = False) -> Any:
            """Read LEFT before JOIN as the join's, not as a name, as FROM may be left out."""
            return this if self._begins_join() else super()._parse_alias(this, explicit)

        def _begins_join(self) -> bool:
            """Tell whether the words that follow begin a join: LEFT JOIN, FULL OUTER JOIN."""
            for token in self._tokens[self._index :]:
                if token.token_type == TokenType.JOIN:
                    return True
                if token.token_type not in _OF_JOINS:
                    return False
            return False

        def _parse_in(self, this: Any, alias: bool = False) -> Any:
            found = super()._parse_in(this, alias)
            of = any(found.args.get(k) for k in ("expressions", "query", "unnest", "field"))
            if not of and self._prev.token_type != TokenType.R_PAREN:
                self.raise_error("Expected a list or a query after IN")
            return found

        def _parse_table_alias(self, *args: Any, **kwargs: Any) -> Any:
            found = super()._parse_table_alias(*args, **kwargs)
            if found is None and self._prev.token_type == TokenType.ALIAS:
                self.raise_error("Expected a name after AS")
            return found

        def parse(self, raw_tokens: list[Any], sql: str) -> Any:
            """Parse; ``SELECT ALL(x)`` is a function of x, not all rows of one, and so elsewhere.

            AS right behind SELECT, which the parser would pass over, is a name.
            """
            kinds = [token.token_type for token in raw_tokens]
            for at, token in enumerate(raw_tokens[1:], 1):
                if (kinds[at], token.text) == (TokenType.PARAMETER, "@"):
                    token.token_type = TokenType.UNKNOWN  # it would go for AS
                is_query = kinds[at + 2 : at + 3] in ([TokenType.SELECT], [TokenType.WITH])
                is_call = kinds[at - 1] in _BEFORE_CALLS and not is_query
                if is_call and kinds[at : at + 2] == [TokenType.ALL, TokenType.L_PAREN]:
                    token.token_type = TokenType.VAR
                elif kinds[at - 1 : at + 1] == [TokenType.SELECT, TokenType.ALIAS]:
                    token.token_type = TokenType.UNKNOWN
            return super().parse(raw_tokens, sql)

        def _parse_field(self, *args: Any, **kwargs: Any) -> Any:
            first = self._curr
            found = super()._parse_field(*args, **kwargs)
            _note_start(found, first)
            return found

        def _parse_type(self, *args: Any, **kwargs: Any) -> Any:
            """Read ``text[0]`` and ``date[1:]`` as columns, whose names are also those of types."""
            named = self._curr.token_type in self.TYPE_TOKENS
            if named and self._next and self._next.token_type == TokenType.L_BRACKET:
                column = self.expression(exp.Column(this=self._parse_id_var()))
                return self._parse_column_ops(column)
            return super()._parse_type(*args, **kwargs)

        def _parse_types(self, *args: Any, **kwargs: Any) -> Any:
            """Note how a type is written: ``int8`` has 8 bits in NumPy, and 8 bytes in SQL."""
            first = self._curr
            found = super()._parse_types(*args, **kwargs)
            if isinstance(found, exp.DataType):
                found.meta[WRITTEN] = first.text
            return found

        def _parse_csv(self, parse_method: Any, *args: Any, **kwargs: Any) -> Any:
            """Refuse a comma with nothing before it."""

            def parse() -> Any:
                before = self._index
                found = parse_method()
                if (
                    found is None
                    and self._index == before
                    and self._match(TokenType.COMMA, advance=False)
                ):
                    self.raise_error("Expected an expression before the comma")
                return found

            return super()._parse_csv(parse, *args, **kwargs)

        def _parse_bracket_key_value(self, is_map: bool = False) -> Any:
            if is_map:
                return super()._parse_bracket_key_value(is_map=is_map)
            if self._curr.token_type == TokenType.DOT:
                return self._dots()
            return self._index_or_slice()

        def _dots(self) -> exp.Expr:
            for _ in range(3):
                if not self._match(TokenType.DOT):
                    self.raise_error("Expected ...")
            return Ellipsis()

        def _index_or_slice(self) -> Any:
            ends = (TokenType.COLON, TokenType.DCOLON, TokenType.COMMA, TokenType.R_BRACKET)
            parts: list[Any] = [None]
            while True:
                if self._curr.token_type not in ends:
                    parts[-1] = self._parse_disjunction()
                if self._match(TokenType.COLON):
                    parts.append(None)
                elif self._match(TokenType.DCOLON):
                    parts += [None, None]
                else:
                    break
            if len(parts) > 3:
                self.raise_error("A slice is start:stop:step")
            if len(parts) == 1:
                [part] = parts
                is_none = isinstance(part, exp.Column) and part.sql() == "None"
                return exp.Null() if is_none else part
            start, stop, step = (*parts, None)[:3]
            return exp.Slice(this=start, expression=stop, step=step)

        def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
            """Parse a source, and behind it VERSION 'v' [AS name]."""
            quoted = self._curr.token_type == TokenType.STRING
            if quoted:
                name = exp.to_identifier(self._curr.text, quoted=True)
                self._advance()
                table: Any = self.expression(exp.Table(this=name)).update_positions(self._prev)
            else:
                table = super()._parse_table(*args, **kwargs)
            version = None
            alias = table.args.get("alias") if isinstance(table, exp.Table) else None
            if alias is not None and alias.name.upper() == "VERSION" and self._curr:
                if self._curr.token_type == TokenType.STRING:  # read as an alias so far
                    table.set("alias", None)
                    version = self._parse_primary()
                elif self._tokens[self._index - 2].token_type != TokenType.ALIAS:
                    self.raise_error("Expected a version in quotes after VERSION")
            elif quoted and self._match_text_seq("VERSION"):
                version = self._parse_primary()
            if version is not None or quoted:
                table.set("version", version)
                table.set("alias", self._parse_table_alias(kwargs.get("alias_tokens")))
                for join in self._parse_joins() if kwargs.get("joins") else ():
                    table.append("joins", join)
            return table


def _is_bare_word(e: exp.Expr | None) -> bool:
    """Tell whether an expression is a single word without quotes, as keywords are.

    >>> _is_bare_word(exp.column("all")), _is_bare_word(exp.column("all", quoted=True))
    (True, False)
    """
    if isinstance(e, exp.Column) and len(e.parts) == 1:
        e = e.this
    return isinstance(e, exp.Identifier | exp.Var) and not e.args.get("quoted")


def text_of(e: exp.Expr) -> str:
    """Return an expression as users write it."""
    return e.sql(dialect=Lakes, unsupported_level=ErrorLevel.IGNORE)


def func(name: str, *args: exp.Expr) -> exp.Expr:
    """Return a call of a function of DuckDB's, as it is named."""
    return exp.Anonymous(this=name, expressions=list(args))


def as_list(*items: exp.Expr) -> exp.Array:
    """Return ``[a, b]``, in which a query is an item: sqlglot writes it as ARRAY(SELECT …).

    >>> as_list(exp.select("1").subquery()).sql("duckdb")
    '[((SELECT 1))]'
    """
    return exp.Array(expressions=[exp.paren(i) if isinstance(i, exp.Query) else i for i in items])


ITEM = exp.column("lake_item")
"""An item of a list, in what `each` makes of it."""


def each(node: exp.Expr, made: exp.Expr) -> exp.Expr:
    """Return a list with something made of each `ITEM` of another; NULL for NULL."""
    listed = exp.Comprehension(
        this=made, expression=exp.to_identifier(ITEM.name), iterator=node.copy()
    )
    is_there = exp.not_(exp.Is(this=node.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_there, true=exp.Array(expressions=[listed]))])


def paired(kind: type[exp.Connector], terms: Sequence[exp.Expr]) -> exp.Expr:
    """Return a chain of AND or OR whose nesting grows with the logarithm of its length.

    >>> terms = [exp.column("a") for _ in range(1024)]
    >>> max(node.depth for node in paired(exp.Or, terms).walk())
    11
    """
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [*(kind(this=a, expression=b) for a, b in pairs), *rest]
    return terms[0]


def as_source(query: exp.Query, name: str) -> exp.Subquery:
    """Return a query in parentheses under a name, as FROM takes it."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def select_from(items: Sequence[exp.Expr], query: exp.Query, name: str) -> exp.Select:
    """Return ``SELECT items FROM (query) AS name``."""
    select = exp.Select(expressions=list(items))
    select.set("from_", exp.From(this=as_source(query, name)))
    return select
