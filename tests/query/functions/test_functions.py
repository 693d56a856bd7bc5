"""Every tensor function against NumPy, row by row and stacked."""

import inspect
import re

import numpy as np
import pytest
import xxhash

from deeplake_lite.htypes import Boxes, ClassLabel, Mask
from deeplake_lite.query.functions import REGISTRY, Arg, Type, reference

from .harness import Case, Const, check_function

NAN = float("nan")
RNG = np.random.default_rng(0)

F = [RNG.normal(size=shape).astype("float32") for shape in ((2, 3), (4, 3), (2, 3), (1, 3))]
PICTURES = [
    RNG.integers(0, 256, shape, dtype="uint8") for shape in ((5, 7, 3), (300, 4, 3), (5, 7, 3))
]
INT8 = [np.array([-128, 100, 100], "int8"), np.array([5, 0, 127], "int8")]
WITH_NAN = [np.array([1, NAN, 3.0]), np.array([0, 2, 3.0])]
EMPTY = [np.zeros((0, 4), "float32"), np.ones((2, 4), "float32"), np.zeros((0, 4), "float32")]
BOOLS = [np.array([True, False]), np.array([True, True])]
ONES = [np.int8(-7), np.int8(3)]
VECTORS = [np.array(v, "float32") for v in ([1, 2, 3], [0, 0, 0], [-1, 0.5, 2])]

f_ = Type("float32", (None, 3))
picture = Type("uint8", (None, None, 3))
int8 = Type("int8", (3,))
float3 = Type("float64", (3,))
empty = Type("float32", (None, 4))
bools = Type("bool", (2,))
scalar8 = Type("int8")
vector = Type("float32", (3,))
xyxy = Type("float32", (None, 4), Boxes("xyxy"))
xywh = Type("float32", (None, 4), Boxes("xywh"))
flowers = Type("int32", (), ClassLabel(["rose", "tulip"]))
several = Type("int32", (None,), ClassLabel(["rose", "tulip"], multiple=True))
one_box = Type("float32", (4,), Boxes("xywh"))
deep = Type("uint16", (3, 3, 2))
text, json = Type("str"), Type("object")
mask = Type("bool", (None, None, None), Mask("instance"))


def wide(*values):
    return [
        np.asarray(v, "int64") if np.asarray(v).dtype.kind in "iub" else np.asarray(v)
        for v in values
    ]


CASES = []


def case(name, values, types, expected, type=None, **options):
    CASES.append(Case(name, values, types, expected, options, type))


for name, oracle in {
    "SUM": np.sum, "PROD": np.prod, "MEAN": np.mean, "MEDIAN": np.median, "STD": np.std,
    "VAR": np.var, "MIN": np.min, "MAX": np.max, "ANY": np.any, "ALL": np.all,
    "ALL_STRICT": lambda v, axis=None: np.all(v, axis) & bool(np.size(v)),
}.items():  # fmt: skip
    case(name, [F], [f_], oracle)
    case(name, [F], [f_], lambda v, f=oracle: f(v, axis=-1), axis=-1)
    case(name, [F], [f_], lambda v, f=oracle: f(v, axis=0), axis=0)
    case(name, [F], [f_], lambda v, f=oracle: f(v, axis=(0, 1)), axis=[0, 1])
    case(name, [WITH_NAN], [float3], oracle)
    case(name, [INT8], [int8], oracle)
    case(name, [BOOLS], [bools], oracle)
    case(name, [ONES], [scalar8], oracle)
    if name != "PROD":
        case(name, [PICTURES], [picture], oracle)
        case(name, [PICTURES], [picture], lambda v, f=oracle: f(v, axis=(0, 1)), axis=(0, 1))
        case(name, [PICTURES], [picture], lambda v, f=oracle: f(v, axis=(0, 2)), axis=(-1, 0))
    if name in ("SUM", "PROD", "ANY", "ALL", "ALL_STRICT"):
        case(name, [EMPTY], [empty], oracle)
    else:
        case(name, [EMPTY], [empty], lambda v, f=oracle: f(v) if v.size else None)
        case(name, [EMPTY], [empty], lambda v, f=oracle: f(v, axis=0) if v.size else None, axis=0)
    case(name, [EMPTY], [empty], lambda v, f=oracle: f(v, axis=1), axis=1)
for name, oracle in {"ARGMIN": np.argmin, "ARGMAX": np.argmax}.items():
    case(name, [F], [f_], oracle, type=Type("int64"))
    case(name, [F], [f_], lambda v, f=oracle: f(v, axis=-1), axis=-1)
    case(name, [EMPTY], [empty], lambda v, f=oracle: f(v) if v.size else None)
    case(name, [EMPTY], [empty], lambda v, f=oracle: f(v, axis=0) if v.size else None, axis=0)
    case(name, [ONES], [scalar8], [0, 0])

for sign, oracle in {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.remainder,
}.items():  # fmt: skip
    case(sign, [INT8, INT8], [int8, int8], lambda a, b, f=oracle: f(*wide(a, b)))
    case(sign, [INT8, ONES], [int8, scalar8], lambda a, b, f=oracle: f(*wide(a, b)))
    case(sign, [F, VECTORS + VECTORS[:1]], [f_, vector], oracle, type=f_)
    case(sign, [F, Const(0.5)], [f_, None], lambda a, b, f=oracle: f(a, np.float32(b)), type=f_)
    case(sign, [Const(3), INT8], [None, int8], lambda a, b, f=oracle: f(*wide(a, b)))
    case(sign, [BOOLS, BOOLS], [bools, bools], lambda a, b, f=oracle: f(*wide(a, b)))
case("/", [INT8, Const(0)], [int8, None], [[-np.inf, np.inf, np.inf], [np.inf, NAN, np.inf]])
case("//", [INT8, Const(0)], [int8, None], [[0, 0, 0]] * 2)
case("**", [INT8, Const(2)], [int8, None], lambda a, _: wide(a)[0] ** 2, type=Type("int64", (3,)))
case("**", [INT8, Const(-1)], [int8, None], lambda a, _: 1 / wide(a)[0], type=float3)
case("**", [F, Const(0.5)], [f_, None], lambda a, _: a ** np.float32(0.5), type=f_)
case("NEG", [INT8], [int8], lambda a: -wide(a)[0])
case("NEG", [F], [f_], np.negative, type=f_)

for sign, oracle in {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}.items():  # fmt: skip
    case(sign, [WITH_NAN, WITH_NAN], [float3, float3], oracle, type=Type("bool", (3,)))
    case(sign, [PICTURES, Const(128)], [picture, None], lambda a, b, f=oracle: f(wide(a)[0], b))
    case(sign, [PICTURES, Const(128.0)], [picture, None], lambda a, b, f=oracle: f(wide(a)[0], b))
    case(sign, [INT8, Const(1000)], [int8, None], lambda a, b, f=oracle: f(wide(a)[0], b))
    case(sign, [INT8, Const(0.5)], [int8, None], lambda a, b, f=oracle: f(wide(a)[0], b))
    case(sign, [INT8, ONES], [int8, scalar8], lambda a, b, f=oracle: f(a, b))
    case(sign, [["a", "b"], Const("a")], [text, None], lambda a, b, f=oracle: f(ord(a), ord(b)))
case("=", [[0, 1], Const("tulip")], [flowers, None], [False, True])
case("<>", [[0, 1], Const("tulip")], [flowers, None], [True, False])
case("=", [[{"a": 1}, {}], Const({"a": 1})], [json, None], [True, False])
case(">", [[3, 1, "many"], Const(2)], [json, None], [True, False, False])

for word, oracle in {"AND": np.logical_and, "OR": np.logical_or}.items():
    case(word, [BOOLS, BOOLS[::-1]], [bools, bools], oracle, type=bools)
    case(word, [INT8, Const(True)], [int8, None], oracle)
case("AND", [[True, False, None], Const(None)], [Type("bool"), None], [None, False, None])
case("OR", [[True, False, None], Const(None)], [Type("bool"), None], [True, None, None])
case("NOT", [BOOLS], [bools], np.logical_not)

for name, oracle in {
    "ABS": np.abs, "SQRT": np.sqrt, "EXP": np.exp, "LOG": np.log, "LOG2": np.log2,
    "LOG10": np.log10, "SIN": np.sin, "COS": np.cos, "FLOOR": np.floor, "CEIL": np.ceil,
    "SIGN": np.sign, "ISNAN": np.isnan,
}.items():  # fmt: skip
    case(name, [F], [f_], oracle, type=Type("bool", (None, 3)) if name == "ISNAN" else f_)
    case(name, [INT8], [int8], lambda v, f=oracle: f(wide(v)[0]))
    case(name, [BOOLS], [bools], lambda v, f=oracle: f(wide(v)[0]))
    case(name, [WITH_NAN], [float3], oracle)
    case(name, [ONES], [scalar8], lambda v, f=oracle: f(wide(v)[0]))
for name, oracle in {"GREATEST": np.maximum, "LEAST": np.minimum}.items():
    case(name, [F, Const(0.5)], [f_, None], lambda a, b, f=oracle: f(a, np.float32(b)), type=f_)
    case(name, [F, VECTORS + VECTORS[:1]], [f_, vector], oracle, type=f_)
    case(name, [WITH_NAN, Const(2)], [float3, None], oracle)
    case(name, [INT8, ONES], [int8, scalar8], oracle)
for dtype in ("int8", "float32", "float64", "bool"):
    for values, known in ((F, f_), (PICTURES, picture), (BOOLS, bools)):
        made = Type(dtype, known.shape)
        CASES.append(
            Case("CAST", [values], [known], lambda v, d=dtype: v.astype(d), {"type": dtype}, made)
        )
case("LEN", [F], [f_], len, type=Type("int64"))
case("LEN", [PICTURES], [picture], len)
case("LEN", [BOOLS], [bools], len)
case("ROUND", [F], [f_], np.round, type=f_)
case("ROUND", [F], [f_], lambda v: np.round(v, 1), decimals=1)
case("ROUND", [INT8], [int8], lambda v: np.round(wide(v)[0], -1), decimals=-1)
case("CLIP", [PICTURES, Const(-3), Const(100)], [picture, None, None],
     lambda v, low, high: np.clip(wide(v)[0], low, high))  # fmt: skip
case("CLIP", [F, Const(0.1), Const(0.2)], [f_, None, None],
     lambda v, low, high: np.clip(v, np.float32(low), np.float32(high)), type=f_)  # fmt: skip
case("CLIP", [INT8, ONES, Const(9)], [int8, scalar8, None], lambda *v: np.clip(*wide(*v)))

case("NORMALIZE", [INT8], [int8], lambda v: (wide(v)[0] - v.min()) / np.ptp(wide(v)[0]))
case("NORMALIZE", [[np.ones(3)]], [float3], [[0, 0, 0]])
case("NORMALIZE", [EMPTY], [empty], np.zeros_like, type=empty)
case("NORMALIZE", [F, Const([0, 2])], [f_, None], lambda v, _: v / 2, type=f_)
case("NORMALIZE", [F, [np.array([0, 2])] * 4], [f_, Type("int64", (2,))], lambda v, _: v / 2)
BOXES = [np.array(b, "float32").reshape(-1, 4) for b in ([[10, 20, 30, 60], [5, 5, 7, 8]], [])]
case("NORMALIZE", [BOXES, Const([10, 10, 30, 50])], [xyxy, None],
     [[[0, 0.25, 1, 1.25], [-0.25, -0.125, -0.15, -0.05]], np.zeros((0, 4))],
     type=Type("float32", (None, 4), Boxes("xyxy", "fraction")))  # fmt: skip
case("NORMALIZE", [BOXES, Const([10, 10, 30, 50])], [xywh, None],
     [[[0, 0.25, 1.5, 1.5], [-0.25, -0.125, 0.35, 0.2]], np.zeros((0, 4))])  # fmt: skip

for name, oracle in {"SHAPE": np.shape, "NDIM": np.ndim, "SIZE": np.size}.items():
    case(name, [PICTURES], [picture], oracle)
    case(name, [EMPTY], [empty], oracle)
    case(name, [ONES], [scalar8], oracle)
case("SHAPE", [PICTURES], [Type("uint8", None)], np.shape, type=Type("int64", (None,)))
case("TRANSPOSE", [PICTURES], [picture], np.transpose, type=Type("uint8", (3, None, None)))
case("TRANSPOSE", [PICTURES], [picture], lambda v: v.transpose(2, 0, 1), axes=[-1, 0, 1])
case(
    "RESHAPE", [F], [f_], lambda v: v.reshape(3, -1), shape=[3, -1], type=Type("float32", (3, None))
)
case("RESHAPE", [INT8], [int8], lambda v: v.reshape(1, 3), shape=[1, -1], type=Type("int8", (1, 3)))
case("RESHAPE", [EMPTY], [empty], np.ravel, shape=-1)
case("FLATTEN", [F], [f_], np.ravel, type=Type("float32", (None,)))
case("FLATTEN", [INT8], [int8], np.ravel, type=int8)
case("FLATTEN", [EMPTY], [empty], np.ravel)
case("SORT", [F], [f_], np.sort)
case("SORT", [F], [f_], lambda v: np.sort(v, axis=0), axis=0)
case("SORT", [WITH_NAN], [float3], np.sort)
case("UNIQUE", [INT8], [int8], np.unique, type=Type("int8", (None,)))
case("UNIQUE", [EMPTY], [empty], np.unique)
case("NONZERO", [INT8], [int8], np.argwhere, type=Type("int64", (None, 1)))
case("NONZERO", [EMPTY], [empty], np.argwhere)

case("CROP", [PICTURES, Const([1, 2, 4, 99])], [picture, None], lambda v, _: v[2:99, 1:4])
case("CROP", [PICTURES, [np.array([0, 1, 2, 3])] * 3], [picture, Type("int64", (4,))],
     lambda v, _: v[1:3, 0:2])  # fmt: skip
case("CROP", [PICTURES, [np.array([0, 1, 2, 3])] * 3], [picture, one_box],
     lambda v, _: v[1:4, 0:2])  # fmt: skip
case("CROP", [[np.eye(4)], Const([0, 0, 2, 3])], [Type("float64", (4, 4)), None],
     lambda v, _: v[:3, :2], type=Type("float64", (3, 2)))  # fmt: skip


def resized(v, h, w):
    from PIL import Image

    return np.asarray(Image.fromarray(v).resize((w, h), Image.Resampling.BILINEAR))


case("RESIZE", [PICTURES, Const(4), Const(6)], [picture, None, None], resized,
     type=Type("uint8", (4, 6, 3)))  # fmt: skip
case("RESIZE", [F, Const(4), Const(6)], [f_, None, None], resized)
case("RESIZE", [[np.eye(2, dtype=bool)], Const(4), Const(2)], [Type("bool", (2, 2)), None, None],
     [np.repeat(np.eye(2, dtype=bool), 2, axis=0)])  # fmt: skip
case("RESIZE", [[np.full((3, 3, 2), 4000, "uint16")], [5], [2]], [deep, scalar8, scalar8],
     [np.full((5, 2, 2), 4000)])  # fmt: skip

case("CONTAINS", [INT8, Const(100)], [int8, None], [True, False], type=Type("bool"))
case("CONTAINS", [INT8, ONES], [int8, scalar8], [False, False])
case("CONTAINS", [EMPTY, Const(1)], [empty, None], [False, True, False])
case("CONTAINS", [[np.array([0, 1]), np.array([0])], Const("tulip")],
     [several, None], [True, False])  # fmt: skip
case("CONTAINS", [["a red rose", "none"], Const("red")], [text, None], [True, False])
case("CONTAINS", [[{"a": 1}, ["a"], "xay", 3, {}], Const("a")], [json, None],
     [True, True, True, False, False])  # fmt: skip
case("CONTAINS", [[[1, 2], [3], {"1": 1}], Const(1)], [json, None], [True, False, False])
case("HASH", [["a", None]], [text], [xxhash.xxh3_64_intdigest(b"'a'"), None], type=Type("uint64"))
case("KEYS", [[{"b": 1, "a": 2}, {}, [1], "a"]], [json], [["b", "a"], [], None, None])

Q = np.array([3, 0, 4.0])


def cosine(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.where(lengths == 0, 0, (a @ b) / np.where(lengths == 0, 1, lengths))


def distance(a, b):
    return np.linalg.norm(np.asarray(a, float) - b, axis=-1)


for name, oracle in {
    "DOT": np.dot, "COSINE_SIMILARITY": cosine, "L2_DISTANCE": distance,
}.items():  # fmt: skip
    case(name, [VECTORS, Const(Q)], [vector, None], oracle, type=Type("float32"))
    case(name, [Const(Q), VECTORS], [None, vector], oracle, type=Type("float32"))
    case(name, [VECTORS, VECTORS[::-1]], [vector, vector], oracle, type=Type("float32"))
    case(name, [F, Const(Q)], [f_, None], oracle, type=Type("float32", (None,)))
    case(name, [F, [VECTORS[0]] * 4], [f_, vector], oracle)
    case(name, [[np.array([NAN, 1, 2])], Const(Q)], [float3, None], [NAN])
    case(name, [INT8, Const([100, 100, 100])], [int8, None], lambda a, b, f=oracle: f(*wide(a, b)))
case("DOT", [INT8, INT8], [int8, int8], lambda a, b: wide(a)[0] @ wide(b)[0], type=Type("int64"))
case("DOT", [[np.array([2**40, 1])], Const([2**20, 1])], [Type("int64", (2,)), None], [2**60 + 1])
case("HAMMING_DISTANCE", [INT8, Const([5, 0, 100])], [int8, None], [2, 1], type=Type("int64"))
case("HAMMING_DISTANCE", [BOOLS, BOOLS[::-1]], [bools, bools], [1, 1])
case("MAXSIM", [F, Const(np.eye(3)[:2])], [f_, None], lambda a, b: (a @ b.T).max(axis=0).sum())
case("MAXSIM", [[np.zeros((0, 3)), np.ones((2, 3))], Const(np.eye(3))],
     [Type("float64", (None, 3)), None], [None, 3])  # fmt: skip
for name, order in {"L1_NORM": 1, "L2_NORM": 2, "LINF_NORM": np.inf}.items():
    case(name, [F], [f_], lambda v, o=order: np.linalg.norm(v.ravel(), o), type=Type("float32"))
    case(name, [F], [f_], lambda v, o=order: np.linalg.norm(v, o, axis=-1), axis=-1)
    case(name, [F], [f_], lambda v, o=order: np.linalg.norm(v, o, axis=0), axis=0)
    case(name, [INT8], [int8], lambda v, o=order: np.linalg.norm(v.astype(float), o))
    case(name, [EMPTY], [empty], lambda v, o=order: np.linalg.norm(v.ravel(), o) if v.size else 0)

PAIRS = [
    np.array([[0, 0, 2, 2], [4, 4, 6, 6]], "float32"),
    np.zeros((0, 4), "float32"),
    np.array([[0, 0, 2, 2]], "float32"),
    np.zeros((0, 4), "float32"),
]
OTHERS = [
    np.array([[4, 4, 6, 6], [0, 0, 2, 1]], "float32"),
    np.zeros((0, 4), "float32"),
    np.array([[0, 0, 2, 2], [9, 9, 10, 10]], "float32"),
    np.ones((1, 4), "float32"),
]
case("IOU", [PAIRS, OTHERS], [xyxy, xyxy], [0.75, 1, 0.5, 0], type=Type("float64"))
case("IOU", [[np.array([[0, 0, 2, 2.0]])], Const([[0, 0, 2, 2]])],
     [Type("float64", (None, 4), Boxes("cxcywh")), None], [1 / 7])  # fmt: skip
case("IOU", [[np.array([[1, 1, 2, 2.0]])], Const([1, 1, 3, 3])],
     [Type("float64", (None, 4), Boxes("xywh")), None], [1])  # fmt: skip
case("IOU_MATRIX", [PAIRS, OTHERS], [xyxy, xyxy],
     [[[0, 0.5], [1, 0]], np.zeros((0, 0)), [[1, 0]], np.zeros((0, 1))],
     type=Type("float64", (None, None)))  # fmt: skip
case("AREA", [PAIRS], [xyxy], [[4, 4], [], [4], []], type=Type("float32", (None,)))
case("AREA", [PAIRS], [xywh], [[4, 36], [], [4], []])
MASKS = [np.zeros((2, 4, 5), bool), np.zeros((0, 4, 5), bool)]
MASKS[0][1, 1:3, 2:5] = True
case("AREA", [MASKS], [mask], [[0, 6], []])
case("AREA", [[MASKS[0][1]]], [Type("bool", (None, None))], [6])
case("BOX_CONVERT", [BOXES], [xyxy], [[[20, 40, 20, 40], [6, 6.5, 2, 3]], np.zeros((0, 4))],
     format="cxcywh", type=Type("float32", (None, 4), Boxes("cxcywh")))  # fmt: skip
case("MASK_TO_BOXES", [MASKS], [mask], [[[0, 0, 0, 0], [2, 1, 5, 3]], np.zeros((0, 4))],
     type=Type("float32", (None, 4), Boxes("xyxy")))  # fmt: skip
case("MASK_TO_BOXES", [[MASKS[0][1]]], [Type("bool", (None, None))], [[[2, 1, 5, 3]]])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_function_agrees_with_numpy(case):
    check_function(case.name, case.values, case.types, case.expected, case.options, case.type)


ENTRIES = {id(e): e for e in REGISTRY.values()}.values()


def test_every_function_has_a_case():
    assert {e.name for e in ENTRIES} == {c.name for c in CASES}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_names_are_upper_case_and_summaries_are_one_sentence(entry):
    for name in (entry.name, *entry.aliases):
        assert name == name.upper()
        assert REGISTRY[name] is entry
    assert re.fullmatch(r"[A-Za-z][^.]*\.", entry.summary), entry.summary


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_signature_names_the_parameters_and_their_defaults(entry):
    parameters = inspect.signature(entry.binder).parameters.values()
    names = [p.name for p in parameters]
    if entry.group == "Operators":
        sign = "-" if entry.name == "NEG" else entry.name
        assert entry.signature.replace(sign, " ", 1).split() == names
        return
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
    between = " AS " if entry.name == "CAST" else ", "  # SQL's spelling of that one
    assert entry.signature == f"{entry.name}({between.join(shown)})"


def test_reference_lists_every_function_once():
    table = reference()
    for entry in ENTRIES:
        assert table.count(f"| `{entry.signature}` |") == 1


def test_constant_argument_knows_its_type():
    assert Arg.constant([1, 2]).type == Type("int64", (2,))
