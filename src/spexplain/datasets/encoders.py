"""Models that turn texts and pictures into vectors; they are loaded at the first batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Encoder(Protocol):
    """Turns a batch of texts or pictures into vectors; any object with these attributes can be used.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import datasets
    >>> class Lengths:
    ...     name, n_dims = "lengths", 1
    ...
    ...     def encode(self, batch):
    ...         return np.array([[len(text)] for text in batch])
    >>> isinstance(Lengths(), datasets.Encoder)
    True
    """

    @property
    def name(self) -> str:
        """Unique name of the model; results are cached under this name."""

    @property
    def n_dims(self) -> int:
        """Length of the vectors."""

    def encode(self, batch: Sequence[Any], /) -> NDArray[np.floating[Any]]:
        """Return one vector per text (str) or picture (PIL image in RGB), as rows."""


class SbertEncoder:
    """A sentence transformer (extra ``embed``).

    Parameters
    ----------
    weights : str or path, optional
        A local folder, or a name on the hub; by default ``"sentence-transformers/all-mpnet-base-v2"``.
    device : str, optional
        The device, as torch names it; by default a GPU if there is one.

    Examples
    --------
    >>> from spexplain import datasets
    >>> datasets.SbertEncoder().name  # nothing is loaded yet
    'sentence-transformers/all-mpnet-base-v2'
    """

    def __init__(
        self, weights: str | PathLike[str] | None = None, *, device: str | None = None
    ) -> None:
        self.weights = "sentence-transformers/all-mpnet-base-v2" if weights is None else weights
        self.device = device

    @property
    def name(self) -> str:
        """The name on the hub, or the folder with a digest of its files."""
        return _weights_name(self.weights)

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise _absent("texts", "sentence-transformers", error) from error
        device = pick_device(self.device)
        try:
            return SentenceTransformer(os.fspath(self.weights), device=device)
        except (OSError, ValueError, RuntimeError) as error:
            raise _no_weights(self.weights, error) from error

    @cached_property
    def n_dims(self) -> int:
        """Length of the vectors."""
        return int(self.encode([""]).shape[1])

    def encode(self, batch: Sequence[str], /) -> NDArray[np.float32]:
        """Return one vector per text."""
        vectors = self._model.encode(
            list(batch), batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(vectors, dtype=np.float32)


class ClipEncoder:
    """The picture side of a CLIP model (extra ``embed``); the vectors are not normalised.

    Parameters
    ----------
    weights : str or path, optional
        A file with weights of ViT-B/32, a local folder with ``open_clip_config.json`` and weights of
        any model, or a name on the hub; by default OpenAI's weights of ViT-B/32.
    device : str, optional
        The device, as torch names it; by default a GPU if there is one.

    Examples
    --------
    >>> from spexplain import datasets
    >>> datasets.ClipEncoder(device="cpu").name  # nothing is loaded yet
    'CLIP ViT-B-32/openai'
    """

    # OpenAI trained with this activation; the plain model name uses another one.
    _architecture = "ViT-B-32-quickgelu"

    def __init__(
        self, weights: str | PathLike[str] | None = None, *, device: str | None = None
    ) -> None:
        self.weights = weights
        self.device = device

    @property
    def name(self) -> str:
        """The name on the hub, or the file or folder with a digest of it."""
        return "CLIP ViT-B-32/openai" if self.weights is None else _weights_name(self.weights)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, str]:
        """The model, the preparation of a picture, and the device."""
        try:
            import open_clip
        except ImportError as error:
            raise _absent("pictures", "open_clip_torch", error) from error
        except RuntimeError as error:
            raise ImportError(
                "open_clip cannot be imported; torch and torchvision must be releases that belong "
                f"together ({_first_line(error)})."
            ) from error
        device = pick_device(self.device)
        architecture, pretrained = self._source()
        try:
            model, prepare = open_clip.create_model_from_pretrained(
                architecture, pretrained=pretrained, device=device
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise _no_weights(self.weights or self.name, error) from error
        return model.eval(), prepare, device

    def _source(self) -> tuple[str, str | None]:
        """Return the model and the weights, as open_clip names them."""
        if self.weights is None:
            return self._architecture, "openai"
        path = Path(self.weights).expanduser()
        if path.is_dir():
            return f"local-dir:{path.resolve()}", None
        if path.is_file():
            return self._architecture, str(path)
        return f"hf-hub:{str(self.weights).removeprefix('hf-hub:')}", None

    @cached_property
    def n_dims(self) -> int:
        """Length of the vectors."""
        from PIL import Image

        return int(self.encode([Image.new("RGB", (8, 8))]).shape[1])

    def encode(self, batch: Sequence[Any], /) -> NDArray[np.float32]:
        """Return one vector per picture."""
        model, prepare, device = self._loaded
        import torch

        # Scaling a picture takes longer than a GPU needs for it, and lets other threads run.
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool, torch.inference_mode():
            pixels = torch.stack(list(pool.map(prepare, batch)))
            vectors = model.encode_image(pixels.to(device))
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def pick_device(device: str | None = None) -> str:
    """Return the device for torch: the one asked for, else a GPU, else the processor.

    Parameters
    ----------
    device : str, optional
        The device, such as ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"mps"``.

    Returns
    -------
    device : str
        A device that exists.
    """
    import torch

    there = [
        kind
        for kind, backend in (("cuda", torch.cuda), ("mps", torch.backends.mps))
        if backend.is_available()
    ]
    there.append("cpu")
    if device is None:
        return there[0]
    if not isinstance(device, str) or device.split(":")[0] not in there:
        raise ValueError(f"device={device!r} is not there; this machine has {' and '.join(there)}.")
    return device


def _weights_name(weights: str | PathLike[str]) -> str:
    """Return the name of weights; for local ones with a digest, as a file may be replaced."""
    path = Path(weights).expanduser()
    if not path.exists():
        return os.fspath(weights)
    digest = sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        facts = file.stat()
        if file.is_file():
            digest.update(f"{file.name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return f"{path.resolve()} ({digest.hexdigest()[:12]})"


def _absent(what: str, package: str, error: ImportError) -> ImportError:
    return ImportError(
        f'Embedding {what} needs {package}: pip install "spexplain[embed]" ({_first_line(error)}).'
    )


def _no_weights(weights: str | PathLike[str], error: Exception) -> OSError:
    return OSError(
        f"The weights {os.fspath(weights)!r} could not be loaded ({_first_line(error)}); "
        "where there is no connection to the hub, give weights, a local copy of them."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
