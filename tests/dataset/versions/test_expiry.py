"""Vacuums of random histories: what expires, and what the remaining versions still know."""

from datetime import UTC, datetime, timedelta
from itertools import combinations, islice

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.expiry import plan_expiry
from deeplake_lite.errors import DamagedError, VersionNotFoundError
from deeplake_lite.storage.repo import Commit
from deeplake_lite.testing.invariants import check_consistent

START = datetime(2026, 1, 1, tzinfo=UTC)


class History:
    """Commits and refs as the engine stores them, and its way to expire them."""

    def __init__(self):
        self.commits = {"root": Commit("root", None, "", START, {})}
        self.names, self.kept_links, self.count = {}, set(), 0

    def links(self):
        result = {}
        for older, later in self.kept_links:
            result.setdefault(later, set()).add(older)
        return result

    def ancestry(self, version):
        if version not in self.commits:
            raise VersionNotFoundError(version)
        while version is not None:
            yield self.commits[version]
            version = self.commits[version].parent

    def commit(self, branch, merged=None):
        note = {"merge": merged} if merged else {}
        self.count += 1
        time = START + timedelta(hours=self.count)
        new = Commit(f"c{self.count}", self.names.get(branch, "root"), "", time, note)
        self.commits[new.id] = new
        self.names[branch] = new.id

    def expire(self, cutoff, plan):
        """Cut each history after its last version that is not older; drop unreachable versions."""
        self.kept_links |= plan.links
        tips = {*self.names.values(), *(older for older, _ in self.kept_links)}
        for tip in tips:
            last = tip
            for commit in self.ancestry(tip):
                if commit.time >= cutoff and commit.parent:
                    last = commit.id
            self.commits[last] = Commit(
                last, "root", "", self.commits[last].time, self.commits[last].metadata
            )
        reached = {c.id for tip in tips for c in self.ancestry(tip)}
        self.commits = {i: c for i, c in self.commits.items() if i in reached}
        self.kept_links = set(plan.links)

    def bases(self):
        return {
            frozenset(pair): set(history.merge_bases(self, [pair[0]], pair[1]))
            for pair in combinations(sorted(set(self.names.values())), 2)
        }


@pytest.mark.parametrize("seed", range(40))
def test_refs_have_the_same_merge_bases_after_any_number_of_vacuums(seed):
    chance, history = np.random.default_rng(seed), History()
    history.commit("main")
    for step in range(60):
        branches = [n for n in history.names if not n.startswith("tag")]
        branch, other = chance.choice(branches, 2)
        match chance.integers(10):
            case 0:
                history.names[f"b{step}"] = history.names[branch]
            case 1 if branch != "main":
                del history.names[branch]
            case 2:
                history.names[f"tag{step}"] = history.names[branch]
            case 3 | 4 if history.names[other] not in {
                c.id for c in history.ancestry(history.names[branch])
            }:
                history.commit(branch, merged=history.names[other])
            case 5:
                age = int(chance.integers(step + 2))
                cutoff = START + timedelta(hours=history.count + 1 - age)
                before, named = history.bases(), set(history.names.values())
                plan = plan_expiry(history, cutoff, named, [])
                assert not plan.expiring & named
                history.expire(cutoff, plan)
                assert history.bases() == before
            case _:
                history.commit(branch)
    cutoff = START + timedelta(days=1_000)
    before = history.bases()
    plan = plan_expiry(history, cutoff, set(history.names.values()), [])
    history.expire(cutoff, plan)
    assert history.bases() == before
    again = plan_expiry(history, cutoff, set(history.names.values()), [])
    assert (again.expiring, again.links) == (frozenset(), plan.links)


def test_circular_history_is_damage():
    history = History()
    for _ in range(3):
        history.commit("main")
    history.commits["c1"] = Commit("c1", "root", "", START, {"merge": "c3"})
    with pytest.raises(DamagedError, match="must not be its own ancestor"):
        plan_expiry(history, START, ["c3"], [])


@pytest.fixture
def ds(tmp_path):
    """Return main, six versions ahead of the start of an old branch."""
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32", "y": "int32"})
    ds.append({"x": [0] * 4, "y": [0] * 4})
    ds.commit("begin")
    ds.branch("old")
    for n in range(1, 7):
        ds["x"][n % 3] = n
        ds.commit(f"{n}")
    return ds


def links(ds):
    return ds.handle.repository.links()


def test_old_branch_does_not_preserve_versions_after_its_start(ds):
    old = dl.open(ds.url, branch="old")
    old["x"][3], old["y"][0] = 30, 30
    old.commit("on the old branch")
    told = ds.vacuum(older_than="0s", spare="0s", dry_run=True)
    done = ds.vacuum(older_than="0s", spare="0s")
    assert told == done
    assert done.expired == 6  # the first one and five of main; the start of the branch stays
    again = dl.open(ds.url)
    assert len(again.log()) == 1
    again.merge("old")
    assert again["x"][:].tolist() == [6, 4, 5, 30]
    assert again["y"][:].tolist() == [30, 0, 0, 0]
    check_consistent(again)
    again.delete_branch("old")
    again.vacuum(older_than="0s", spare="0s")
    assert links(again) == {}
    assert len(dl.open(ds.url).log()) == 1


def test_both_branches_still_merge_after_several_vacuums(ds):
    for n in range(3):
        old = dl.open(ds.url, branch="old")
        old["y"][n] = 10 + n
        old.commit("old goes on")
        ds = dl.open(ds.url)
        ds["x"][3] = n
        ds.commit("main goes on")
        ds.vacuum(older_than="0s", spare="0s")
        dl.open(ds.url, branch="old").merge("main")
        ds.vacuum(older_than="0s", spare="0s")
    ds = dl.open(ds.url)
    ds.merge("old")
    assert ds["y"][:].tolist() == [10, 11, 12, 0]
    assert ds["x"][:].tolist() == [6, 4, 5, 2]
    assert len(links(ds)) <= 2


def test_merged_tag_still_counts_as_merged(ds):
    fix = dl.open(ds.url, branch="old")
    fix["y"][:] = 7
    fix.commit("fix")
    fix.tag("v1")
    ds.merge("v1")
    ds["y"][0] = 8
    ds.commit("afterwards")
    ds["y"][1] = 9
    ds.commit("and again")
    ds.vacuum(older_than="0s", spare="0s")
    again = dl.open(ds.url)
    before = again.version
    assert again.merge("v1") == before
    assert again["y"][:].tolist() == [8, 9, 7, 7]


def test_open_transaction_does_not_preserve_versions_after_its_start(ds):
    writer = dl.open(ds.url)
    writer["y"][0] = 5
    for n in range(3):
        ds["x"][0] = 100 + n
        ds.commit("others go on")
    assert ds.vacuum(older_than="0s", spare="0s").expired > 7
    writer.commit("late")
    assert dl.open(ds.url)["x"][0] == 102
    assert dl.open(ds.url)["y"][0] == 5


def test_diff_across_expired_versions_reads_everything(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32"})
    ds.append({"x": range(20_000)})
    ds.commit("rows")
    ds.metadata["k"] = 1
    ds.commit("a note")
    ds.tag("v1")
    ds["x"][5] = -1
    ds.commit("a change that nobody will know of")
    ds["x"][19_999] = -1
    ds.commit("another chunk")
    ds.vacuum(older_than="0s", spare="0s")
    diff = dl.open(ds.url).diff("v1")
    assert len(diff.changed["x"]) == 2


@pytest.mark.parametrize("options", [{}, {"older_than": "0s"}, {"dry_run": True}])
def test_handle_with_cached_history_can_vacuum_after_another_vacuum(tmp_path, options):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32"})
    for i in range(4):
        ds.append({"x": [i]})
        ds.commit(f"commit {i}")
    other = dl.open(ds.url)
    other.vacuum(spare="0s")  # reads all versions
    assert ds.vacuum(older_than="0s", spare="0s").expired
    assert not other.vacuum(spare="0s", **options).expired
    assert other.verify()
    assert other["x"][:].tolist() == [0, 1, 2, 3]


AFTERWARDS = {
    "merge": lambda ds: ds.merge("side"),
    "log": lambda ds: list(ds.log()),
    "diff": lambda ds: ds.diff("kept"),
    "restore": lambda ds: ds.restore("kept"),
    "optimize": lambda ds: ds.optimize(),
    "verify": lambda ds: ds.verify(),
    "vacuum": lambda ds: ds.vacuum(older_than="0s", spare="0s"),
    "query": lambda ds: ds.query("SELECT COUNT(*) AS n FROM dataset VERSION 'kept'"),
}


@pytest.mark.parametrize("operation", AFTERWARDS)
@pytest.mark.parametrize("seen", [0, 1, 2, 4, 6])
def test_handle_that_has_cached_more_history_than_is_left_works(tmp_path, seen, operation):
    url = str(tmp_path / "long.lake")
    made = dl.create(url, {"x": "int64"})
    for i in range(6):
        made.append({"x": [i]})
        made.commit(f"row {i}")
        if i == 1:
            made.tag("kept")
    ds = dl.open(url)
    assert len(list(islice(ds.handle.repository.ancestry(ds.version), seen))) == seen
    dl.open(url).vacuum(older_than="0s", spare="0s")
    ds.branch("side")
    side = dl.open(url, branch="side")
    side.append({"x": [99]})
    side.commit("on a branch")
    result = AFTERWARDS[operation](ds)
    left = {"merge": [*range(6), 99], "restore": [0, 1]}
    assert ds["x"][:].tolist() == left.get(operation, list(range(6)))
    if operation == "query":
        assert result["n"][0] == 2
    assert dl.open(url).verify()
    assert dl.open(url)["x"][:6].tolist()[:2] == [0, 1]
