import copy
import pickle
import re

import numpy as np
import pytest

import deeplake_lite as dl

from . import coco


@pytest.fixture
def ds(request):
    names, rows = coco.random_rows(1)
    ds = coco.lake(f"memory://{request.node.name}", names, rows)
    ds.commit("predictions")
    return ds


def evaluate(view, **options):
    return view.evaluate("predicted_boxes", "boxes", **options)


def test_metrics_of_rows_can_be_written_and_queried(ds):
    result = evaluate(ds)
    names = result.write(ds)
    assert names == ("eval_tp", "eval_fp", "eval_fn", "eval_iou", "eval_f1")
    wrong = ds.query("SELECT * WHERE eval_fp > 0 ORDER BY eval_fp DESC, eval_f1")
    assert len(wrong) == (result.rows["fp"] > 0).sum()
    assert ds["eval_fp"][:].tolist() == result.rows["fp"].tolist()
    ds.commit("metrics")
    evaluate(ds, score=0.9).write(ds)
    assert ds.status().updated
    assert ds.status().schema is None or not ds.status().schema


def test_rows_that_were_not_evaluated_are_null_or_stay(ds):
    evaluate(ds[:10]).write(ds, prefix="a/")
    assert ds["a/fp"][:].mask.sum() == len(ds) - 10
    before = ds["a/fp"][:10].tolist()
    evaluate(ds[10:12], score=0.0).write(ds, prefix="a/")
    assert ds["a/fp"][:10].tolist() == before
    assert ds["a/fp"][:].mask.sum() == len(ds) - 12


def test_writing_to_a_wrong_dataset_changes_nothing(ds):
    result = evaluate(ds)
    other = dl.create(f"{ds.url}-other", {"x": "int8"})
    with pytest.raises(dl.OptionError, match="must be a dataset of the evaluated lake"):
        result.write(other)
    with pytest.raises(dl.OptionError, match="must be a dataset of the evaluated lake"):
        result.write(ds[:3])
    with pytest.raises(dl.ReadOnlyError):
        result.write(dl.open(ds.url, version=ds.version))
    ds.add_column("eval_fn", "text", values="x")
    with pytest.raises(dl.SchemaError, match=r"'eval_fn' must be .*, but it is .* another prefix"):
        result.write(ds)
    assert "eval_tp" not in ds
    ds.delete(3)
    with pytest.raises(
        dl.InvalidValueError, match="1 of the 30 rows is missing, such as the row with id"
    ):
        result.write(ds, prefix="other_")


def test_worst_rows_have_the_lowest_f1(ds):
    result = evaluate(ds)
    worst = result.worst(5)
    own = result.rows.loc[worst.row_ids]
    assert own["f1"].is_monotonic_increasing
    assert own["f1"].max() <= result.rows["f1"].drop(worst.row_ids).min()
    assert len(result.worst(1000)) == len(ds)
    with pytest.raises(dl.OptionError, match="n must be an integer of at least 0"):
        result.worst(-1)


def test_a_result_shows_the_rows_as_they_were(ds):
    result = evaluate(ds)
    before = [b.tolist() for b in ds["boxes"][:]]
    ds["boxes"][0] = [[0, 0, 1, 1]]
    ds["labels"][0] = ["c0"]
    assert [b.tolist() for b in result.view["boxes"][:]] == before
    for table in (result.rows, result.classes, result.confusion, result.curve()):
        table.iloc[:] = 0
    result.summary["AP"] = 0.0
    result.row_ids[:] = 0
    assert result.rows["tp"].sum() > 0
    assert result.summary["AP"] > 0
    assert result.classes["AP"].sum() > 0
    assert result.confusion.to_numpy().sum() > 0
    assert result.curve()["recall"].max() == 1
    assert (result.row_ids == ds.row_ids).all()


def test_saved_evaluations_are_opened_with_all_metrics(ds):
    result = evaluate(ds)
    version = ds.version
    result.save("baseline")
    assert result.name == "baseline"
    ds["labels"][0] = ["c0"] * len(ds["labels"][0])
    ds.commit("an edit")
    again = dl.open(ds.url).evaluations()["baseline"]
    assert again.version == version
    np.testing.assert_equal(again.summary, result.summary)
    assert again.rows.equals(result.rows)
    assert again.classes.equals(result.classes)
    assert again.confusion.equals(result.confusion)
    assert again.curve("c0").equals(result.curve("c0"))
    assert again.curve().equals(result.curve())
    assert (again.options, again.counts) == (result.options, result.counts)
    assert repr(again) == repr(result)
    np.testing.assert_array_equal(again.worst(3).row_ids, result.worst(3).row_ids)
    assert again.write(ds) == ("eval_tp", "eval_fp", "eval_fn", "eval_iou", "eval_f1")


def test_saved_evaluations_and_views_live_side_by_side(ds):
    result = evaluate(ds)
    assert repr(ds.evaluations()) == "no saved evaluations"
    result.save("a")
    assert len(ds.views()) == 0
    ds[:3].save("first")
    result.save("b")
    ds[3:].save("rest")
    assert (list(ds.evaluations()), sorted(ds.views())) == (["a", "b"], ["first", "rest"])
    with pytest.raises(dl.ExistsError, match=r"'a' already exists.*overwrite=True"):
        result.save("a")
    result.save("a", overwrite=True)
    ds.evaluations().delete("b")
    assert list(ds.evaluations()) == ["a"]
    assert sorted(ds.views()) == ["first", "rest"]
    with pytest.raises(dl.NotFoundError, match=r"no saved evaluation 'b'\. Known: 'a'"):
        ds.evaluations()["b"]
    assert ds.vacuum(spare="1h")
    assert ds.verify()


def test_saving_needs_committed_rows_and_a_valid_name(ds):
    result = evaluate(ds)
    with pytest.raises(dl.InvalidValueError, match="The name of an evaluation must be a non-empty"):
        result.save("a/b")
    ds["labels"][0] = ["c0"] * len(ds["labels"][0])
    with pytest.raises(dl.UncommittedError, match="A saved evaluation needs committed rows"):
        evaluate(ds).save("new")


def damaged(monkeypatch, ds, change):
    """Return the saved evaluations with a changed document."""
    from deeplake_lite.dataset.saved import evaluations

    real = evaluations.documents
    monkeypatch.setattr(evaluations, "documents", lambda s: change(copy.deepcopy(real(s))))
    return ds.evaluations()


@pytest.mark.parametrize("seed", range(40))
def test_damaged_documents_raise_our_errors(ds, monkeypatch, seed):
    evaluate(ds).save("a")
    random = np.random.default_rng(seed)
    junk = [None, "x", -1, [], {}, 10**30, [["row_ids", "<i8", [10**18]]], "evaluations/../x"]

    def change(documents):
        own = documents["a"]
        key = sorted(own)[random.integers(len(own))]
        if random.random() < 0.3:
            del own[key]
        else:
            own[key] = junk[random.integers(len(junk))]
        return documents

    saved = damaged(monkeypatch, ds, change)
    repr(saved)
    try:
        result = saved["a"]
        repr(result)
        result._repr_html_()
    except dl.LakeError:
        pass


def test_results_refuse_to_be_pickled(ds):
    result = evaluate(ds)
    for value in (result, ds.evaluations(), dl.compare(result, result)):
        with pytest.raises(dl.OptionError, match="cannot be pickled or copied"):
            pickle.dumps(value)


def test_markup_in_names_is_escaped():
    names = ["<script>alert(1)</script>", "\u202eright"]
    box = [[0, 0, 5, 5]]
    row = {"boxes": box, "labels": names[:1], "crowd": [False], "predicted_boxes": box}
    row |= {"predicted_labels": names[1:], "predicted_scores": [0.9]}
    ds = coco.lake("memory://markup", names, [row])
    result = evaluate(ds)
    for html in (result._repr_html_(), dl.compare(result, result)._repr_html_()):
        assert "<script" not in html
        assert "\u202e" not in html


def test_pages_stay_small_with_many_classes():
    names = [f"class {n} with a long name {'x' * 80}" for n in range(1500)]
    box = [[0, 0, 5, 5]]
    rows = [
        {
            "boxes": box,
            "labels": [names[n]],
            "crowd": [False],
            "predicted_boxes": box,
            "predicted_labels": [names[-n]],
            "predicted_scores": [0.9],
        }
        for n in range(300)
    ]
    result = evaluate(coco.lake("memory://many-classes", names, rows))
    html = result._repr_html_()
    assert "<svg" in html
    assert len(html) < 60_000
    assert "1,488 more classes" in repr(result)


def test_drawings_have_titles_and_no_colours_of_their_own(ds):
    html = evaluate(ds)._repr_html_()
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) == 2
    for drawing in drawings:
        assert 'role="img"' in drawing
        assert "<title>" in drawing
        assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawing)) <= {
            "currentColor", "var(--dl-accent)", "none",
        }  # fmt: skip


def test_rows_that_repeat_count_twice_and_are_written_once(ds):
    view = ds[[0, 0, 1]]
    result = evaluate(view)
    assert len(result.rows) == 3
    result.write(ds)
    assert ds["eval_tp"][:].mask.sum() == len(ds) - 2


def test_computed_rows_are_refused(ds):
    view = ds.query("SELECT ANY_VALUE(predicted_boxes) AS p, ANY_VALUE(boxes) AS b GROUP BY 1=1")
    with pytest.raises(dl.LakeError):
        view.evaluate("p", "b")


def test_evaluations_of_expired_versions_keep_their_metrics(ds):
    result = evaluate(ds)
    result.save("old")
    first = ds.version
    ds["labels"][0] = ["c0"] * len(ds["labels"][0])
    ds.commit("an edit")
    ds.vacuum(older_than="0s", spare="0s")
    with pytest.raises(dl.VersionNotFoundError):
        dl.open(ds.url, version=first)
    old = dl.open(ds.url).evaluations()["old"]
    assert old.rows.equals(result.rows)
    assert "old" in repr(old)
    with pytest.raises(dl.VersionNotFoundError):
        _ = old.view
    difference = dl.compare(old, evaluate(ds))
    assert len(difference.improved) + len(difference.worse) <= 1
    old.write(ds)


def test_labels_may_be_a_column_of_several_classes():
    names, rows = coco.random_rows(2)
    plain = coco.lake("memory://lists-of-labels", names, rows)
    kinds = {f.name: f.htype for f in plain.schema}
    for name in ("labels", "predicted_labels"):
        kinds[name] = dl.ClassLabel(names, multiple=True)
    other = dl.create("memory://multiple-labels", kinds)
    other.append([{**row, "labels": row["labels"]} for row in rows])
    np.testing.assert_equal(evaluate(other).summary, evaluate(plain).summary)
