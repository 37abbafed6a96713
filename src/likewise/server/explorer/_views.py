"""The bodies of responses for the pages of the explorer."""

from typing import Literal

from pydantic import BaseModel, Field

from likewise.server.api._schemas import Canary, Evaluation, Id, ItemView, ServedRecall


class RankedNeighbor(BaseModel):
    """A neighbor, and its rank under the other version."""

    item: ItemView
    score: float
    rank: int
    other_rank: int | None


class Neighbors(BaseModel):
    """The nearest neighbors of an item before and after learning."""

    item: ItemView
    base: list[RankedNeighbor]
    learned: list[RankedNeighbor]
    base_model: int
    model: int


class Point(BaseModel):
    """The position of an item on the map before and after learning."""

    id: Id
    before: tuple[float, float]
    after: tuple[float, float]
    label: str | None


class Map(BaseModel):
    """Items in the plane; there are no points while they are being computed."""

    status: Literal["ready", "computing"]
    points: list[Point]
    numeric: bool = Field(description="Whether the labels are numbers, not names.")
    n_items: int
    base_model: int
    model: int


class Curve(BaseModel):
    """The points of a line."""

    x: list[float]
    y: list[float]


class Goodness(BaseModel):
    """Margins in descending order against the share of examples that reach them."""

    of: Literal["labels", "comparisons"]
    before: Curve
    after: Curve
    said_before: str
    said_after: str


class GateResult(BaseModel):
    """The evaluation of a candidate at a position of the journal."""

    position: int
    version: int
    overall: Evaluation
    seen: Evaluation
    new: Evaluation
    threshold: float
    promoted: bool


class Progress(BaseModel):
    """Comparisons predicted before training on them, and correct predictions, so far."""

    position: int
    asked: int
    right: int


class BaselineEvaluation(BaseModel):
    """Means over held-out queries of the model file and of the live version."""

    base: float | None
    live: float | None
    error: float | None = Field(description="Standard error of live − base.")
    n: int


class BaselineComparison(BaseModel):
    """The live version compared with the model file by cross-validation."""

    overall: BaselineEvaluation
    seen: BaselineEvaluation
    new: BaselineEvaluation


class Outcome(BaseModel):
    """A held-out comparison, and its margins before and after learning."""

    query: ItemView
    closer: ItemView
    farther: ItemView
    margin_before: float
    margin_after: float


class Quality(BaseModel):
    """The quality of the live version on held-out queries."""

    status: Literal["ready", "computing"]
    goodness: Goodness | None = None
    lessons: list[GateResult]
    progress: list[Progress]
    served: ServedRecall | None = None
    standing: BaselineComparison | None = None
    canary: Canary | None = Field(None, description="Null without --canary.")
    held_out: int = Field(0, description="Number of held-out comparisons.")
    n_won: int = 0
    n_lost: int = 0
    won: list[Outcome] = []
    lost: list[Outcome] = []
    base_model: int
    model: int


class Summary(BaseModel):
    """The served model, its items and the progress of learning."""

    name: str
    n_items: int
    n_query_features: int | None
    n_item_features: int | None
    kind: Literal["image", "text", "row"]
    columns: list[str]
    label: str | None
    label_repeats: bool = Field(description="Whether items share labels, as members of a class do.")
    similarity: str
    learns: bool
    why_not: str | None = Field(description="Why the model cannot learn.")
    takes_text: bool
    takes_pairs: bool = Field(description="Whether the learner learns from pairs.")
    store: Literal["sqlite", "postgresql"]
    engine: str
    live: int
    answers: int = Field(description="Comparisons and pairs without undone ones.")
    acknowledged: int
    applied: int
