"""Random generators held by functions: the same seed gives the same batches in every worker."""

import functools
import random
import threading
from types import ModuleType

import numpy as np
import pytest
import torch

from deeplake_lite.loader.make.functions import Function
from deeplake_lite.loader.make.generators import OwnGenerators

SHARED = np.random.default_rng()


class Noise:
    """A transform with its own generator, as in libraries."""

    def __init__(self, generator, draw):
        self.generator, self.draw, self.strength = generator, draw, 1.0

    def __call__(self, sample):
        drawn = [float(self.draw(self.generator)) for _ in range(3)]
        return {"x": sample["x"], "drawn": np.array(drawn) * self.strength}


class Compose:
    """Transforms applied in sequence."""

    def __init__(self, *transforms):
        self.transforms = list(transforms)

    def __call__(self, sample):
        for transform in self.transforms:
            sample = transform(sample)
        return sample


class Kept:
    """A transform whose random numbers are appended to those of others."""

    def __init__(self, transform):
        self.transform = transform

    def __call__(self, sample):
        drawn = self.transform(sample)["drawn"]
        return {"x": sample["x"], "drawn": np.append(sample.get("drawn", []), drawn)}


def closing_over(generator):
    return lambda sample: {"x": sample["x"], "drawn": generator.random(3)}


def of_module(sample):
    return {"x": sample["x"], "drawn": SHARED.random(3)}


def of_numpy(generator):
    return generator.random()


def of_torch(generator):
    return torch.rand((), generator=generator)


def with_argument(generator, sample):
    return {"x": sample["x"], "drawn": generator.random(3)}


COMPOSED = Compose(lambda sample: sample, Noise(np.random.default_rng(), of_numpy))
MODULE = ModuleType("augmentations_of_a_user")
MODULE.composed = COMPOSED


def naming_an_object(sample):
    return COMPOSED(sample)


def calling_a_helper(sample):
    return naming_an_object(sample)


def naming_a_module(sample):
    return MODULE.composed(sample)


def within_a_function(sample):
    (made,) = (COMPOSED(each) for each in (sample,))
    return made


def by_keyword(sample, *, composed=COMPOSED):
    return composed(sample)


@functools.wraps(with_argument)
def wrapped(sample):
    return by_keyword(sample)


class OfTheClass:
    composed = COMPOSED

    def __call__(self, sample):
        return self.composed(sample)


class ByItsMethod:
    def __call__(self, sample):
        return self.helped(sample)

    def helped(self, sample):
        return naming_an_object(sample)


MAKERS = {
    "numpy": lambda: Noise(np.random.default_rng(), of_numpy),
    "numpy, another": lambda: Noise(np.random.Generator(np.random.MT19937()), of_numpy),
    "numpy, old": lambda: Noise(np.random.RandomState(), of_numpy),
    "python": lambda: Noise(random.Random(), of_numpy),
    "torch": lambda: Noise(torch.Generator(), of_torch),
    "composed": lambda: Compose(lambda s: s, Noise(np.random.default_rng(), of_numpy)),
    "a method": lambda: Noise(np.random.default_rng(), of_numpy).__call__,
    "a closure": lambda: closing_over(np.random.default_rng()),
    "a partial": lambda: functools.partial(with_argument, np.random.default_rng()),
    "a module's": lambda: of_module,
    "named": lambda: naming_an_object,
    "a helper's": lambda: calling_a_helper,
    "a lambda's": lambda: lambda sample: naming_an_object(sample),
    "another module's": lambda: naming_a_module,
    "a generator expression's": lambda: within_a_function,
    "a keyword's": lambda: by_keyword,
    "wrapped": lambda: wrapped,
    "a class's": OfTheClass,
    "a method's": ByItsMethod,
    "a partial's": lambda: functools.partial(calling_a_helper),
}


def drawn(loader):
    return {int(x): d.tolist() for b in loader for x, d in zip(b["x"], b["drawn"], strict=True)}


@pytest.mark.parametrize("kind", MAKERS)
def test_same_seed_gives_the_same_numbers_for_any_number_of_threads(numbers, kind):
    loader = numbers.batches(3, seed=1, transform=MAKERS[kind](), num_workers=0)
    first, second = drawn(loader), drawn(loader)
    assert len({tuple(d) for d in (*first.values(), *second.values())}) == 2 * len(numbers)
    for threads in (1, 4):
        options = {"seed": 1, "num_workers": threads, "shuffle": True}
        loader = numbers.batches(2, transform=MAKERS[kind](), **options)
        assert [drawn(loader), drawn(loader)] == [first, second]
    assert drawn(numbers.batches(3, seed=2, transform=MAKERS[kind]())) != first


def test_processes_draw_the_same_numbers_as_threads(numbers):
    kinds = [MAKERS[kind]() for kind in ("numpy", "python", "torch", "a helper's", "a class's")]
    options = {"seed": 1, "transform": Compose(*map(Kept, kinds)), "columns": ["x"]}
    threads = drawn(numbers.batches(8, **options, num_workers=2))
    with numbers.batches(8, **options, workers="processes", num_workers=1) as loader:
        assert drawn(loader) == threads


def test_generator_of_the_user_is_not_advanced(numbers):
    generator = np.random.default_rng(5)
    before = generator.bit_generator.state
    list(numbers.batches(4, transform=closing_over(generator), num_workers=2))
    noise = Noise(random.Random(5), of_numpy)
    state = noise.generator.getstate()
    list(numbers.batches(4, transform=noise, num_workers=2))
    assert generator.bit_generator.state == before
    assert noise.generator.getstate() == state


def test_changes_by_the_user_between_epochs_take_effect(numbers):
    noise = Noise(np.random.default_rng(), of_numpy)
    loader = numbers.batches(4, transform=noise, num_workers=2)
    assert max(map(max, drawn(loader).values())) > 0
    noise.strength = 0.0
    assert max(map(max, drawn(loader).values())) == 0


def test_large_arrays_are_not_copied():
    noise = Noise(np.random.default_rng(), of_numpy)
    noise.table = np.zeros(1000)
    function, _ = OwnGenerators(noise)._copy_of_thread(0)
    assert function is not noise
    assert function.table is noise.table


def test_uncopyable_object_is_called_by_one_thread_at_a_time(numbers):
    noise, lock = Noise(np.random.default_rng(), of_numpy), threading.Lock()
    noise.lock = lock  # locks are not copied
    loader = numbers.batches(2, seed=1, transform=noise, num_workers=4)
    expected = numbers.batches(2, seed=1, transform=MAKERS["numpy"](), num_workers=0)
    assert drawn(loader) == drawn(expected)


def test_function_without_generators_is_called_directly():
    calls = []
    function = Function("transform", calls.append, 0)
    assert OwnGenerators(calls.append)._sources == []
    with pytest.raises(Exception, match="returned None"):
        function(1, 0, 0)
    assert calls == [1]


def test_loaders_with_several_threads_take_turns_with_the_global_generators(numbers):
    def draw(sample):
        return {"x": sample["x"], "drawn": np.array([random.random(), np.random.random()])}  # noqa: NPY002

    def epoch(seed):
        loader = numbers.batches(5, num_workers=0, shuffle=True, seed=seed, transform=draw)
        return [batch["drawn"].tolist() for batch in loader]

    alone, result = [epoch(seed) for seed in range(3)], {}
    random.seed(7)
    expected, state = random.random(), random.getstate()
    running = [
        threading.Thread(
            target=lambda seed=seed: result.update({seed: [epoch(seed) for _ in "abc"]})
        )
        for seed in range(3)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert result == {seed: [alone[seed]] * 3 for seed in range(3)}
    assert random.getstate() == state
    random.seed(7)
    assert random.random() == expected


def drawn_from_all(sample):
    values = [random.random(), np.random.random(), float(torch.rand(()))]  # noqa: NPY002
    return {"x": sample["x"], "drawn": np.array(values)}


def drawn_beside_rng(sample, rng):
    return {**drawn_from_all(sample), "own": rng.random()}


def drawn_for_batches(batch, rng):
    return {
        "x": batch["x"],
        "drawn": np.stack([drawn_from_all(batch)["drawn"]]),
        "own": rng.random(),
    }


@pytest.mark.parametrize(
    "workers",
    [{"num_workers": 0}, {"workers": "processes", "num_workers": 2}],
    ids=["no workers", "processes"],
)
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"transform": drawn_from_all}, 40),
        ({"transform": drawn_beside_rng}, 40),
        ({"batch_transform": drawn_for_batches}, 8),
    ],
    ids=["transform", "rng", "batches"],
)
def test_global_generators_draw_new_numbers_for_each_sample_and_epoch(
    numbers, options, count, workers
):
    def epochs():
        with numbers.batches(5, seed=3, **options, **workers) as loader:
            return [np.concatenate([b["drawn"].reshape(-1, 3) for b in loader]) for _ in range(2)]

    first = epochs()
    for column in np.concatenate(first).T:
        assert len(set(column)) == 2 * count
    np.testing.assert_array_equal(first, epochs())


def test_generators_of_installed_packages_are_ignored(numbers):
    assert OwnGenerators(np.median)._sources == []
    assert OwnGenerators(torch.utils.data.default_collate)._sources == []
    assert OwnGenerators(lambda _: numbers)._sources == []
