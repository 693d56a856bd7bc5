"""Export of a view to a file of PyTorch tensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.export.arrays.forms import NOTE
from deeplake_lite.dataset.export.arrays.numpy import collect_arrays
from deeplake_lite.dataset.export.atomic_files import atomic_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View


def write_torch(view: View, path: str | Path, images: str) -> Path:
    """Write the rows of a view; see `View.to_torch`."""
    target = Path(checks.location("path", path)).expanduser()
    torch = checks.package("torch", "torch", "to_torch")
    with collect_arrays(view, images, "to_torch") as arrays:
        content: dict[str, Any] = {s.name: _tensor(torch, s.array()) for s in arrays.stored()}
        content[NOTE] = arrays.note
    with atomic_write(target) as draft, draft.open("wb") as file:  # PyTorch would store the path
        torch.save(content, file)
    return target


def _tensor(torch: Any, array: NDArray[Any]) -> Any:
    """Convert an array of numbers or times to a tensor, and an array of strings to a list."""
    if array.dtype.kind == "U":
        return array.tolist()
    return torch.from_numpy(array.view("i8") if array.dtype.kind in "mM" else array)
