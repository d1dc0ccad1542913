"""Images without pixels, for datasets and transforms."""

from __future__ import annotations

from typing import Any


class Image:
    """A picture of a height and width, in some number of channels."""

    open_record = True
    mode = "RGB"

    def __init__(self, height: int = 256, width: int = 256, channels: int = 3) -> None:
        self.height, self.width, self.channels = height, width, channels

    @property
    def size(self) -> tuple[int, int]:
        """(width, height), as PIL has it."""
        return self.width, self.height

    def convert(self, mode: str = "RGB", *args: Any) -> Image:
        """The picture in another mode."""
        return Image(self.height, self.width, {"L": 1, "RGB": 3, "RGBA": 4, "1": 1}.get(mode, 3))

    def resize(self, size: Any, *args: Any, **kwargs: Any) -> Image:
        """The picture in another size, (width, height)."""
        return Image(int(size[1]), int(size[0]), self.channels)

    def crop(self, box: Any) -> Image:
        """A part of the picture."""
        return Image(int(box[3] - box[1]), int(box[2] - box[0]), self.channels)

    def transpose(self, *args: Any) -> Image:
        """Flipped or turned."""
        return self

    rotate = transpose

    def close(self) -> None:
        """Nothing is open."""
