"""The dialect in which queries are written, which is DuckDB's SQL with additions for tensors.

The dialect differs from DuckDB's in these points:

- Subscripts are NumPy's (``x[10:20, ::2, -1]``, ``x[..., 0]``), so a cast is always written CAST.
- A source may be a URL, and may have a VERSION.
- USING INDEX follows LIMIT.
- ARRANGE BY, SAMPLE BY and EXPAND BY follow LIMIT, and are applied in the order in which they are
  written.
- Functions keep the names used in the query, whether sqlglot knows these functions or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel
from sqlglot.generator import Generator
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from deeplake_lite.query.parse.added_nodes import (
    AT,
    CLAUSES,
    UNGROUP,
    USING_INDEX,
    WORDY,
    WRITTEN,
    Arrange,
    Ellipsis,
    Expand,
    Sample,
    UsingIndex,
)
from deeplake_lite.query.parse.clause_order import ParseClause, check_order, record_start

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlglot.generators.duckdb import DuckDBGenerator as _Generator
    from sqlglot.parsers.duckdb import DuckDBParser as _Parser
    from sqlglot.tokenizer_core import Token
else:  # releases of sqlglot have these classes in different modules
    _Parser, _Generator = DuckDB.parser_class, DuckDB.generator_class

_WITH_KEYWORDS = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")
"""Functions that have keywords between their arguments, as in CAST(x AS INT)."""

WEIGHTS = ("MAX_WEIGHT", "SUM_WEIGHT")
"""Functions whose arguments are pairs, ``condition: weight``."""

_BORROWED = (
    TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.ORDER_SIBLINGS_BY,
)  # fmt: skip
"""Tokens that sqlglot has for clauses of other databases. Here, they stand for the added
clauses."""

_BEFORE_CALLS = {
    TokenType.SELECT, TokenType.L_PAREN, TokenType.COMMA, TokenType.GROUP_BY, TokenType.ORDER_BY,
    TokenType.DISTINCT,
}  # fmt: skip
"""Tokens after which sqlglot reads ALL as a keyword, although ALL( is the start of a call."""


_JOIN_WORDS = frozenset({*_Parser.JOIN_METHODS, *_Parser.JOIN_SIDES, *_Parser.JOIN_KINDS})
"""Words that may precede JOIN, such as LEFT, CROSS or NATURAL."""

_AMBIGUOUS = {"<=>"}
"""Operators that are not part of the query language, because their meaning differs between
databases."""


class Lakes(DuckDB):
    """The dialect in which queries are written."""

    INDEX_OFFSET = 0

    class Tokenizer(DuckDB.Tokenizer):
        """DuckDB's tokenizer with additional keywords."""

        # "$a,$b" is two parameters, not the start of a string that is quoted with "$a,$".
        HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                k: t
                for k, t in DuckDB.Tokenizer.KEYWORDS.items()
                if t not in _BORROWED and k not in _AMBIGUOUS
            },
            "ARRANGE BY": TokenType.SORT_BY,
            "SAMPLE BY": TokenType.CLUSTER_BY,
            "EXPAND BY": TokenType.DISTRIBUTE_BY,
            "UNGROUP BY": TokenType.ORDER_SIBLINGS_BY,
        }

    class Generator(_Generator):
        """DuckDB's generator, which also formats the added nodes, for messages and column names."""

        TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
            **_Generator.TRANSFORMS,
            Ellipsis: lambda _self, _e: "...",
            UsingIndex: lambda _self, _e: "USING INDEX",
            exp.Array: lambda self, e: f"[{self.expressions(e, flat=True)}]",
            # DuckDB's generator puts ORDER BY elsewhere.
            exp.WithinGroup: Generator.withingroup_sql,
        }

        def slice_sql(self, expression: exp.Slice) -> str:
            """Format a slice as NumPy does. DuckDB, in contrast, needs a sign for a missing end."""
            start, stop, step = (
                self.sql(expression, part) for part in ("this", "expression", "step")
            )
            return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    class Parser(_Parser):
        """DuckDB's parser, with NumPy's subscripts, sources with a version, and added clauses."""

        FUNC_TOKENS: ClassVar[set[TokenType]] = {
            *_Parser.FUNC_TOKENS,
            TokenType.UNIQUE,
        }
        ARRAY_CONSTRUCTORS: ClassVar[
            dict[str, type[exp.Func]]
        ] = {  # LIST is left out, because of ``LIST(x)[0]``
            "ARRAY": exp.Array,
        }
        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
            **{name: _Parser.FUNCTION_PARSERS[name] for name in _WITH_KEYWORDS},
            "MAX_WEIGHT": lambda self: self._weights("MAX_WEIGHT"),
            "SUM_WEIGHT": lambda self: self._weights("SUM_WEIGHT"),
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
            name: parser
            for name, parser in _Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in {"CASE", "IF"}
        }
        PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Callable[..., exp.Expr | None]]] = {
            **_Parser.PLACEHOLDER_PARSERS,
            TokenType.PLACEHOLDER: lambda self: self._question(),
        }
        COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., exp.Expr] | None]] = {
            token: parser
            for token, parser in _Parser.COLUMN_OPERATORS.items()
            if token == TokenType.DOT
        }
        QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, ParseClause]] = {
            token: check_order(token, parser)
            for token, parser in {
                **_Parser.QUERY_MODIFIER_PARSERS,
                TokenType.ORDER_SIBLINGS_BY: lambda self: (UNGROUP, self._ungroup()),
                TokenType.USING: lambda self: self._using(),
                TokenType.SORT_BY: lambda self: (CLAUSES, self._clause(self._arrange)),
                TokenType.CLUSTER_BY: lambda self: (CLAUSES, self._clause(self._sample)),
                TokenType.DISTRIBUTE_BY: lambda self: (CLAUSES, self._clause(self._expand)),
            }.items()
        }

        def _question(self) -> exp.Expr:
            """Parse a ``?``, and record its offset, by which its value is looked up."""
            placeholder = exp.Placeholder()
            placeholder.meta[AT] = self._prev.start
            return placeholder

        def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
            """Parse an argument of a call.

            In ``f(DISTINCT x, y)``, DISTINCT belongs only to the first argument.
            """
            if not self._match(TokenType.DISTINCT):
                return super()._parse_lambda(alias)
            distinct = exp.Distinct(expressions=[self._parse_disjunction()])
            return self._parse_order(distinct)

        def _weights(self, name: str) -> exp.Expr:
            """Parse ``condition: weight, …``. Each pair becomes a slice node."""
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
            columns = self._parse_csv(self._parse_disjunction)
            if not columns:
                self.raise_error("Expected columns, or SPLIT, after UNGROUP BY")
            return list(columns)

        def _using(self) -> tuple[str, exp.Expr | None]:
            """Parse USING INDEX, or the USING SAMPLE of DuckDB, which `grammar` refuses."""
            if self._next is not None and self._next.text.upper() == "SAMPLE":
                return "sample", self._parse_table_sample(as_modifier=True)
            self._advance()
            if not self._match_text_seq("INDEX"):
                self.raise_error("Expected INDEX after USING")
            return USING_INDEX, UsingIndex()

        def _clause(self, parse: Callable[[], exp.Expr]) -> list[exp.Expr]:
            """Parse an added clause, and all added clauses that follow it."""
            self._advance()
            clauses = [parse()]
            parsers = {
                TokenType.SORT_BY: self._arrange,
                TokenType.CLUSTER_BY: self._sample,
                TokenType.DISTRIBUTE_BY: self._expand,
            }
            while self._curr and self._curr.token_type in parsers:
                parse = parsers[self._curr.token_type]
                self._advance()
                clauses.append(parse())
            return clauses

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
            while True:  # LIMIT and SEED may be in either order
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

        def _count(self) -> exp.Expr | None:
            return self._parse_primary() or self._parse_placeholder()

        def _parse_ordered(
            self, parse_method: Callable[[], exp.Expr | None] | None = None
        ) -> exp.Ordered | None:
            """Parse a term of ORDER BY, in which ALL without quotes means all items.

            In contrast, the base class also takes a column ``"all"`` and a call ``all(…)`` for the
            keyword.
            """
            term: exp.Expr | None = None

            def parse() -> exp.Expr | None:
                nonlocal term
                term = parse_method() if parse_method else self._parse_disjunction()
                return term

            ordered = super()._parse_ordered(parse)
            if ordered is not None and not _is_bare_word(term):
                ordered.set("this", term)
            return ordered

        def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
            """Parse a subscript, or a list, ``ARRAY[…]``.

            In contrast, the base class also takes a column ``"array"`` and a string for the keyword
            ARRAY.
            """
            if this is None or this.name.upper() not in self.ARRAY_CONSTRUCTORS:
                return super()._parse_bracket(this)
            if _is_bare_word(this):
                bracket = super()._parse_bracket(this)
                innermost = this if bracket is None else bracket
                while isinstance(innermost, exp.Bracket):
                    innermost = innermost.this
                innermost.meta[WORDY] = True
                return bracket
            stand_in = exp.Null()
            bracket = super()._parse_bracket(stand_in)
            if bracket is stand_in:
                return this
            stand_in.replace(this)
            return bracket

        def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
            """Parse an alias.

            FROM may be left out, so the LEFT of LEFT JOIN may follow an item of the select list. In
            this case, it is not an alias.
            """
            return this if self._begins_join() else super()._parse_alias(this, explicit)

        def _begins_join(self) -> bool:
            """Return whether the next words begin a join, such as LEFT JOIN or FULL OUTER JOIN."""
            for token in self._tokens[self._index :]:
                if token.token_type == TokenType.JOIN:
                    return True
                if token.token_type not in _JOIN_WORDS:
                    return False
            return False

        def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
            test = super()._parse_in(this, alias)
            of = any(test.args.get(k) for k in ("expressions", "query", "unnest", "field"))
            if not of and self._prev.token_type != TokenType.R_PAREN:
                self.raise_error("Expected a list or a query after IN")
            return test

        def _parse_table_alias(
            self, alias_tokens: Collection[TokenType] | None = None
        ) -> exp.TableAlias | None:
            alias = super()._parse_table_alias(alias_tokens)
            if alias is None and self._prev.token_type == TokenType.ALIAS:
                self.raise_error("Expected a name after AS")
            return alias

        def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
            """Parse tokens, after correcting the types of three kinds of tokens.

            ALL in ``SELECT ALL(x)`` is a function. AS right after SELECT is the name of a column,
            but the base class would skip it. ``@`` does not start a parameter, as the base class
            assumes.
            """
            kinds = [token.token_type for token in raw_tokens]
            for at, token in enumerate(raw_tokens[1:], 1):
                if (kinds[at], token.text) == (TokenType.PARAMETER, "@"):
                    token.token_type = TokenType.UNKNOWN
                is_query = kinds[at + 2 : at + 3] in ([TokenType.SELECT], [TokenType.WITH])
                is_call = kinds[at - 1] in _BEFORE_CALLS and not is_query
                if is_call and kinds[at : at + 2] == [TokenType.ALL, TokenType.L_PAREN]:
                    token.token_type = TokenType.VAR
                elif kinds[at - 1 : at + 1] == [TokenType.SELECT, TokenType.ALIAS]:
                    token.token_type = TokenType.UNKNOWN
            return super().parse(raw_tokens, sql)

        def _parse_field(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            first = self._curr
            field = super()._parse_field(*args, **kwargs)
            record_start(field, first)
            return field

        def _parse_type(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            """Parse a type, but read ``text[0]`` and ``date[1:]`` as subscripts of columns."""
            named = self._curr.token_type in self.TYPE_TOKENS
            if named and self._next and self._next.token_type == TokenType.L_BRACKET:
                column = self.expression(exp.Column(this=self._parse_id_var()))
                return self._parse_column_ops(column)
            return super()._parse_type(*args, **kwargs)

        def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            """Parse a type, and record its name as it is written.

            The name matters because ``int8`` has 8 bits in NumPy, but 8 bytes in SQL.
            """
            first = self._curr
            type_ = super()._parse_types(*args, **kwargs)
            if isinstance(type_, exp.DataType):
                type_.meta[WRITTEN] = first.text
            return type_

        def _parse_csv[T](
            self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
        ) -> list[T]:
            """Parse a list. A comma that does not follow an expression is an error."""

            def parse() -> T | None:
                before = self._index
                part = parse_method()
                if (
                    part is None
                    and self._index == before
                    and self._match(TokenType.COMMA, advance=False)
                ):
                    self.raise_error("Expected an expression before the comma")
                return part

            return super()._parse_csv(parse, sep)

        def _parse_bracket_key_value(self, is_map: bool = False) -> exp.Expr | None:
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

        def _index_or_slice(self) -> exp.Expr | None:
            ends = (TokenType.COLON, TokenType.DCOLON, TokenType.COMMA, TokenType.R_BRACKET)
            parts: list[exp.Expr | None] = [None]
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
                self.raise_error("Expected a slice start:stop:step")
            if len(parts) == 1:
                [part] = parts
                is_none = isinstance(part, exp.Column) and part.sql() == "None"
                return exp.Null() if is_none else part
            start, stop, step = (*parts, None)[:3]
            return exp.Slice(this=start, expression=stop, step=step)

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            """Parse an item of FROM, which VERSION 'v' and an alias may follow."""
            quoted = self._curr.token_type == TokenType.STRING
            if quoted:
                name = exp.to_identifier(self._curr.text, quoted=True)
                self._advance()
                source = self.expression(exp.Table(this=name))
                table: exp.Expr | None = source.update_positions(self._prev)
            else:
                table = super()._parse_table(*args, **kwargs)
            version = None
            alias = table.args.get("alias") if isinstance(table, exp.Table) else None
            is_version = alias is not None and alias.name.upper() == "VERSION"
            if table is not None and is_version and self._curr:
                if self._curr.token_type == TokenType.STRING:  # VERSION was taken for an alias
                    table.set("alias", None)
                    version = self._parse_primary()
                elif self._tokens[self._index - 2].token_type != TokenType.ALIAS:
                    self.raise_error("Expected a version in quotes after VERSION")
            elif quoted and self._match_text_seq("VERSION"):
                version = self._parse_primary()
            if table is not None and (version is not None or quoted):
                table.set("version", version)
                table.set("alias", self._parse_table_alias(kwargs.get("alias_tokens")))
                for join in self._parse_joins() if kwargs.get("joins") else ():
                    table.append("joins", join)
            return table


def _is_bare_word(e: exp.Expr | None) -> bool:
    """Return whether an expression is a single word without quotes, like a keyword.

    >>> _is_bare_word(exp.column("all")), _is_bare_word(exp.column("all", quoted=True))
    (True, False)
    """
    if isinstance(e, exp.Column) and len(e.parts) == 1:
        e = e.this
    return isinstance(e, exp.Identifier | exp.Var) and not e.args.get("quoted")


def text_of(e: exp.Expr) -> str:
    """Return the text of an expression in the query language."""
    return e.sql(dialect=Lakes, unsupported_level=ErrorLevel.IGNORE)
