"""Which column of a table holds the file names, and which file each value refers to."""

import itertools
import os
import unicodedata

import pytest

import deeplake_lite as dl

from .conftest import PNG, fill, picture

DIGITS = ("0.png", "1.png", "2.png", "3.png")
NAMES = {"0.png": "zero", "1.png": "one", "2.png": "two", "3.png": "three"}


def write_table(folder, columns):
    """Write a CSV next to the images, from values by column."""
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "labels.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")


def labels_by_path(folder, url, **options):
    """Return the label that the table gives to each path."""
    ds = dl.from_folder(folder, url, labels="labels.csv", progress=False, **options)
    return dict(zip(ds["path"][:], ds["label"].htype.to_names(ds["label"][:]), strict=True))


FILES = ["2.png", "3.png", "0.png", "1.png"]
WORDS = [NAMES[file] for file in FILES]


@pytest.mark.parametrize(
    "other",
    [{"id": [0, 1, 2, 3]}, {"": [0, 1, 2, 3]}, {"fold": [1, 1, 0, 0]}, {"stem": [3, 2, 1, 0]}],
    ids=["id", "index", "fold", "stem"],
)
@pytest.mark.parametrize("name", ["file", "x"])
@pytest.mark.parametrize("first", [True, False])
def test_names_with_suffixes_outrank_numbers_and_stems(photos, url, other, name, first):
    folder, mine = photos(*DIGITS), {name: FILES}
    other = {key or "unnamed": values for key, values in other.items()}
    columns = {**other, **mine} if first else {**mine, **other}
    write_table(folder, {**columns, "label": WORDS})
    assert labels_by_path(folder, url) == NAMES


@pytest.mark.parametrize("classes", [[2, 3, 0, 1], [1, 1, 0, 0]])
@pytest.mark.parametrize("form", ["{}.png", "{}"])
def test_class_numbers_are_never_file_names(photos, url, classes, form):
    folder = photos(*DIGITS)
    write_table(folder, {"label": classes, "x": [form.format(i) for i in range(4)]})
    result = labels_by_path(folder, url)
    assert result == {f"{i}.png": str(number) for i, number in enumerate(classes)}


@pytest.mark.parametrize("usual", ["file", "file_name", "filename", "path", "image", "image_file"])
@pytest.mark.parametrize("first", [True, False])
def test_usual_column_name_decides_between_two_columns_of_files(photos, url, usual, first):
    folder = photos("images/0.png", "images/1.png", "masks/0.png", "masks/1.png")
    mask, image = {"mask": ["masks/0.png", "masks/1.png"]}, {usual: ["images/0.png", "gone.png"]}
    write_table(folder, {**(mask | image if first else image | mask), "label": ["a", "b"]})
    assert labels_by_path(folder, url) == {"images/0.png": "a"}


def test_file_name_column_outranks_all_others_and_may_hold_stems(photos, url):
    folder = photos(*DIGITS)
    write_table(
        folder,
        {"path": FILES, "file_name": [file[0] for file in reversed(FILES)], "label": WORDS[::-1]},
    )
    assert labels_by_path(folder, url) == NAMES


def test_columns_that_name_the_same_files_are_one_choice(photos, url):
    folder = photos(*DIGITS)
    write_table(folder, {"file": FILES, "path": [f"photos/{f}" for f in FILES], "label": WORDS})
    assert labels_by_path(folder, url) == NAMES


@pytest.mark.parametrize("names", [("left", "right"), ("image", "path"), ("id", "number")])
def test_tie_between_columns_of_different_files_is_refused(photos, url, names):
    folder, by_number = photos(*DIGITS), "id" in names
    values = [file[0] for file in FILES] if by_number else FILES
    columns = {names[0]: values, names[1]: values[::-1], "label": WORDS}
    write_table(folder, columns)
    message = rf"columns '{names[0]}' and '{names[1]}' of .* Choose one: file_column='{names[0]}'"
    with pytest.raises(dl.InvalidValueError, match=message):
        labels_by_path(folder, url)
    assert labels_by_path(folder, url, file_column=names[0]) == NAMES


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (" a.png", "a.png"),
        ("a.png ", "a.png"),
        ("b\\c.png", "b/c.png"),
        (unicodedata.normalize("NFC", "é.png"), unicodedata.normalize("NFD", "é.png")),
        ("x/ a.png", "x/a.png"),
    ],
)
def test_exact_name_outranks_its_interpretations(tmp_path, url, a, b):
    folder = tmp_path / "photos"
    for seed, name in enumerate((a, b)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture(seed, PNG))
    for order in itertools.permutations([(a, "one"), (b, "two")]):
        files, words = zip(*order, strict=True)
        write_table(folder, {"file": files, "label": words})
        result = labels_by_path(folder, url, update="force")
        assert result == {a: "one", b: "two"}


@pytest.mark.parametrize(("there", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("name", ["é/ü.png", "ü.png"])
@pytest.mark.parametrize("suffix", [True, False])
def test_composed_and_decomposed_accents_are_equal(photos, url, there, asked, name, suffix):
    file = unicodedata.normalize(there, name)
    folder = photos(file)
    text = unicodedata.normalize(asked, name)
    write_table(folder, {"file": [text if suffix else text[:-4]], "label": ["a"]})
    assert labels_by_path(folder, url) == {file: "a"}


@pytest.mark.parametrize("inner", [True, False], ids=["folder in it", "the folder"])
@pytest.mark.parametrize("linked", ["taken", "named"])
def test_absolute_paths_through_folder_links_are_the_same_files(tmp_path, url, inner, linked):
    real = fill(tmp_path / "real", ["sub/0.png", "sub/1.png"])
    fill(tmp_path / "elsewhere", ["0.png"])
    if inner:
        link = tmp_path / "photos"
        link.mkdir()
        os.symlink(real / "sub", link / "sub")
    else:
        link = tmp_path / "link"
        os.symlink(real, link)
    taken, named = (link, real) if linked == "taken" else (real, link)
    files = [str(named / "sub/0.png"), str(tmp_path / "elsewhere/0.png")]
    write_table(taken, {"file": files, "label": ["a", "b"]})
    assert labels_by_path(taken, url) == {"sub/0.png": "a"}
