"""An unclosed quote is refused with its line, since it would swallow the lines that follow."""

import pytest

import deeplake_lite as dl


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('x,y\n1,"rose\n2,lily\n3,aster\n', 2),
        ('x,y\n1,a\n2,"rose\n', 3),
        ('x,y\n1,a\n2,"rose', 3),
        ('x,y\n1,"rose\n2,"lily"\n', 2),
        ('"x,y\n1,a\n', 1),
        ('x;y\n"1;2\n3;4\n', 2),
    ],
)
def test_unclosed_quote_is_reported_with_its_line(text, line, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(dl.InvalidValueError, match=f"the quote opened in line {line} "):
        dl.from_csv(tmp_path / "x.csv", str(tmp_path / "x.lake"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('x,y\n1,"ro\nse"\n2,lily\n', ["ro\nse", "lily"]),
        ('x,y\n1,"a ""b"""\n2,5" tube\n', ['a "b"', '5" tube']),
        ('\ufeff"x","y"\r\n1,"a, b"\r\n2,""\r\n', ["a, b", ""]),
        ('x,y\n1,"a" b\n2,c\n', ["a b", "c"]),
    ],
)
def test_closed_quotes_are_read(text, values, tmp_path):
    (tmp_path / "x.csv").write_bytes(text.encode())
    assert dl.from_csv(tmp_path / "x.csv", str(tmp_path / "x.lake"))["y"][:] == values


def test_table_of_labels_is_not_one_class(photos):
    folder = photos("1.png", "2.png", "3.png")
    (folder / "l.csv").write_text('file,label\n1.png,"rose\n2.png,lily\n3.png,aster\n')
    with pytest.raises(dl.InvalidValueError, match="the quote opened in line 2 "):
        dl.from_folder(folder, "memory://open-quote", labels="l.csv")
