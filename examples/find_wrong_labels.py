"""Write predictions back into the lake by row id, then find the labels that contradict them.

Run it: python examples/find_wrong_labels.py
Needs: pip install "deeplake-lite[demo]"
"""

import tempfile

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import deeplake_lite as dl

CLASSES = [str(digit) for digit in range(10)]


def make_lake(url):
    """Write the digits that come with scikit-learn, twenty of them with a wrong label."""
    digits = load_digits()
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(digits.target), 20, replace=False)
    labels = digits.target.copy()
    labels[wrong] = (labels[wrong] + rng.integers(1, 10, 20)) % 10
    ds = dl.create(
        url,
        {
            "number": "int32",
            "image": dl.Array("uint8", (8, 8)),
            "label": dl.ClassLabel(CLASSES),
        },
    )
    ds.append({
        "number": np.arange(len(labels)),
        "image": digits.images.astype("uint8"),
        "label": labels,
    })  # fmt: skip
    ds.add_column("scores", dl.Array("float32", (10,), nullable=True))
    ds.commit("digits, twenty with a wrong label")
    return ds, ds.row_ids[wrong]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        ds, wrong = make_lake(f"{scratch}/digits.lake")

        # Each row gets its scores from a model that was not trained on this row. Folds usually
        # depend on row ids, which differ from lake to lake. Folds that are grouped by a column
        # depend only on the values of the column.
        for train, test in ds.folds(5, by="label", group="number"):
            model = KNeighborsClassifier(10)
            model.fit(train["image"][:].reshape(-1, 64), train["label"][:])
            for batch in test.batches(128, columns=["image"], shuffle=True, row_ids=True):
                scores = model.predict_proba(batch["image"].reshape(-1, 64))
                ds.update(ids=batch["_row_id"], data={"scores": scores})
        ds.commit("scores of five models")

        suspects = ds.suspects("label", by="scores", column="scores")
        first = suspects.query("SELECT * WHERE suggested <> label LIMIT 10")
        correct = np.isin(first.row_ids, wrong).sum()
        print(f"{correct} of the {len(first)} most suspicious labels are indeed wrong")
        assert len(first) == 10
        assert correct >= 8

        ds.update(first, {"label": first["suggested"][:]})  # a person would check the labels first
        ds.commit("labels corrected")
        print(ds.diff(ds.log()[1].id, "main"))


if __name__ == "__main__":
    main()
