"""Encoder of a column of dates."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from likewise._files import fields
from likewise.tables._block import Block, missing_cells
from likewise.tables._dates import ISO, TIMES, cycle_position, cycles_of, date_format, days_of
from likewise.tables._frame import Frame


@dataclass(frozen=True, eq=False)
class Date(Block):
    """Days since the first date, and the position in the week, the year and the day on a circle.

    A missing date is the median, in the middle of each circle.
    """

    kind = "date"
    order: str
    reference: float  # days since 1970
    fill: float
    center: float
    scale: float
    radius: float
    cycles: list[str]
    _file_fields: ClassVar[fields.Declaration] = {
        "order": fields.Text(),
        **dict.fromkeys(
            ("reference", "fill", "center", "scale", "radius"),
            fields.Number(minimum=None, whole=False),
        ),
        "cycles": fields.ListOf(fields.Text()),
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        name = names[0]
        order, is_ambiguous = ISO, False
        if frame.kind(name) == "texts":
            texts = [text for text in frame.texts(name) if text]
            order, is_ambiguous = date_format(texts, options.day_first_) or (ISO, False)
        days = days_of(frame.values(name), order, name)
        known = days[~np.isnan(days)]
        if len(known) == 0:
            return None, [f"{name}: not used; every cell is missing."]
        if known.max() == known.min():
            return None, [f"{name}: not used; the same in every row."]
        reference = 0.0 if order == TIMES else float(np.floor(known.min()))
        elapsed = np.where(np.isnan(days), np.median(known), days) - reference
        center, scale = 0.0, 1.0
        if options.scale == "standard":
            center, scale = float(elapsed.mean()), float(elapsed.std())
        elif options.scale == "range":
            center, scale = float(elapsed.min()), float(np.ptp(elapsed))
        cycles = cycles_of(known)
        block = cls(
            names,
            order,
            reference,
            float(np.median(known)) - reference,
            center,
            scale,
            0.5 if options.scale == "range" else 1.0,
            cycles,
        )
        sentence = f"{name}: {block._meaning()}"
        if is_ambiguous:
            why = "as given" if options.day_first is not None else "assumed; no cell is decisive"
            sentence += f"; read as {order} ({why})"
        elif order not in (ISO, TIMES):
            sentence += f"; read as {order}"
        n_missing = int(np.isnan(days).sum())
        if n_missing:
            sentence += f"; {missing_cells(n_missing)} filled with the median"
        return block, [f"{sentence}."]

    def transform(self, frame: Frame) -> np.ndarray:
        days = days_of(frame.values(self.columns[0]), self.order, self.columns[0])
        missing = np.isnan(days)
        elapsed = np.where(missing, self.fill, days - self.reference)
        numbers = [(elapsed - self.center) / self.scale]
        for cycle in self.cycles:
            angle = 2 * np.pi * cycle_position(np.where(missing, 0.0, days), cycle)
            numbers += [np.where(missing, 0.0, self.radius * f(angle)) for f in (np.cos, np.sin)]
        return np.stack(numbers, axis=1)

    def feature_names(self) -> list[str]:
        name = self.columns[0]
        circles = [f"{name}:{cycle} ({f})" for cycle in self.cycles for f in ("cos", "sin")]
        return [f"{name}:{'time' if self.order == TIMES else 'days'}", *circles]

    def _meaning(self) -> str:
        if self.order == TIMES:
            return "times, as a share of the day and on a circle"
        text = f"dates, as days since {np.datetime64(int(self.reference), 'D')}"
        return f"{text}, {', '.join(self.cycles)}" if self.cycles else text
