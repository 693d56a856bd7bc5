import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(request):
    kind = dl.ClassLabel(["cat", "dog", "bird"])
    ds = dl.create(f"memory://{request.node.name}", dict.fromkeys(("label", "old", "new"), kind))
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 50)
    columns = {n: np.where(random.random(50) < 0.6, label, (label + 1) % 3) for n in ("old", "new")}
    ds.append({"label": label, **columns})
    ds.commit("predictions")
    return ds


def test_rows_that_improve_or_get_worse_are_found(ds):
    c = dl.compare(ds.evaluate("old", "label"), ds.evaluate("new", "label"))
    label, old, new = (ds[n][:] for n in ("label", "old", "new"))
    improved = ds.row_ids[(old != label) & (new == label)]
    worse = ds.row_ids[(old == label) & (new != label)]
    assert c.improved.row_ids.tolist() == improved.tolist()
    assert c.worse.row_ids.tolist() == worse.tolist()
    assert (c.rows["change"] > 0).sum() == len(improved)
    change = (new == label).mean() - (old == label).mean()
    assert c.summary.loc["accuracy", "change"] == pytest.approx(change)
    assert c.classes.index.tolist() == ["cat", "dog", "bird"]
    assert f"{len(improved)} improved · {len(worse)} worse" in repr(c)
    assert f"{len(improved)} improved" in c._repr_html_()


def test_versions_and_branches_are_compared_by_row_id(ds):
    before = ds.evaluate("old", "label")
    before.save("before")
    ds.branch("retrained")
    ds.checkout("retrained")
    ds.update(slice(None), {"old": ds["label"][:]})
    ds.delete([0, 1])
    ds.commit("better")
    c = dl.compare(ds.evaluations()["before"], ds.evaluate("old", "label"))
    assert len(c.rows) == 48
    assert len(c.worse) == 0
    assert len(c.improved) == (before.rows["correct"][2:] == 0).sum()
    assert "2 only in a" in repr(c)
    assert "different rows" in repr(c)


def test_misuse_is_reported(ds):
    a = ds.evaluate("old", "label")
    with pytest.raises(dl.OptionError, match=r"b must be an evaluation, but it is of type Dataset"):
        dl.compare(a, ds)
    other = dl.create(f"{ds.url}-other", {"label": "text", "old": "text"})
    other.append({"label": ["a"], "old": ["a"]})
    with pytest.raises(dl.OptionError, match="must be of the same lake"):
        dl.compare(a, other.evaluate("old", "label"))
    with pytest.raises(dl.OptionError, match="but these have none"):
        dl.compare(ds[:5].evaluate("old", "label"), ds[5:].evaluate("old", "label"))
    ds.add_column("mask", dl.Mask(), values=[np.zeros((2, 2), "uint8")] * 50)
    ds.add_column("mask2", dl.Mask(), values=[np.zeros((2, 2), "uint8")] * 50)
    with pytest.raises(dl.OptionError, match="of the same kind"):
        dl.compare(a, ds.evaluate("mask", "mask2"))
