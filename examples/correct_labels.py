"""Correct labels on a branch while others work on main, merge the branch, and resolve a conflict.

Run it: python examples/correct_labels.py
"""

import tempfile

import numpy as np

import deeplake_lite as dl


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ds = dl.create(
            f"{scratch}/animals.lake",
            {"name": "text", "label": dl.ClassLabel(["cat", "dog", "fox"]), "weight": "float32"},
        )
        labels = np.arange(30) % 3
        ds.append({
            "name": [f"animal {i}" for i in range(30)],
            "label": labels,
            "weight": np.linspace(2, 20, 30),
        })  # fmt: skip
        ds.commit("thirty animals")
        ds.tag("v1")

        ds.branch("review")
        ds.checkout("review")
        ds["label"][[3, 4, 5]] = ["fox", "fox", "fox"]
        ds.commit("three labels reviewed")

        ds.checkout("main")
        ds["label"][4] = "cat"  # on the branch, this label became "fox", which will be a conflict
        ds["weight"][0] = 2.5
        ds.append({"name": ["animal 30"], "label": ["dog"], "weight": [7.0]})
        ds.commit("one label, one weight, one more animal")

        print(ds.diff("main", "review"))
        try:
            ds.merge("review")
        except dl.ConflictError as error:
            print(error)
        ds.merge("review", on_conflict="theirs")

        names = ds["label"].names
        print("now:", [names[i] for i in ds["label"][[3, 4, 5]]])
        assert ds["label"].htype.to_names(ds["label"][[3, 4, 5]]) == ["fox", "fox", "fox"]
        assert (len(ds), float(ds["weight"][0])) == (31, 2.5)
        old = dl.open(ds.url, version="v1")
        print("in v1:", [names[i] for i in old["label"][[3, 4, 5]]])


if __name__ == "__main__":
    main()
