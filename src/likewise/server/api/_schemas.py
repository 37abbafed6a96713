"""The bodies of requests and responses, with their limits."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

MAX_MATCHES = 1_000
MAX_FEATURES = 16_000  # the limit of pgvector
MAX_TRIPLETS = 1_000
MAX_COMPARISONS = 10_000  # in the pages of one request
MAX_ITEMS = 1_000
MAX_CHARACTERS = 20_000

MAX_NUMBER = 1e12  # products of larger numbers overflow single precision

Number = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_NUMBER, le=MAX_NUMBER)]
Plain = Annotated[StrictStr, Field(pattern=r"^[^\x00]*$")]  # PostgreSQL rejects null bytes
Vector = Annotated[list[Number], Field(min_length=1, max_length=MAX_FEATURES)]
Id = (
    Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
    | Annotated[Plain, Field(min_length=1, max_length=200)]
)
Text = Annotated[Plain, Field(max_length=MAX_CHARACTERS)]
Name = Annotated[Plain, Field(max_length=200)]
Key = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
User = Annotated[Plain, Field(min_length=1, max_length=200)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]
Cell = Text | Annotated[StrictInt, Field(ge=-(2**53), le=2**53)] | Number | bool | None


class Body(BaseModel):
    """A request body; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class Query(Body):
    """A query: the id of an item, a vector, or a text where the model takes texts."""

    id: Id | None = None
    vector: Vector | None = None
    text: Text | None = None
    version: Version | None = Field(None, description="A version other than the live one.")

    @model_validator(mode="after")
    def _check_one_given(self) -> "Query":
        if sum(given is not None for given in (self.id, self.vector, self.text)) != 1:
            raise ValueError("exactly one of id, vector and text must be given")
        return self


Filter = Annotated[
    dict[Name, Cell | Annotated[list[Cell], Field(max_length=100)]],
    Field(max_length=20),
]


class SearchRequest(Query):
    """A search for the items most similar to a query."""

    k: int = Field(10, ge=1, le=MAX_MATCHES)
    filter: Filter | None = Field(
        None, description="Columns, each with the value or list of values that items must have."
    )


class ScoreRequest(Query):
    """Items to be scored for a query."""

    items: list[Id] = Field(min_length=1, max_length=MAX_ITEMS)


class ExplainRequest(Query):
    """An item whose score for a query is to be explained."""

    item: Id
    top: int = Field(10, ge=1, le=100)


class Match(BaseModel):
    """An item and its score."""

    id: Id
    score: float


class SearchResponse(BaseModel):
    """The most similar items, best first, and the version that found them."""

    matches: list[Match]
    model: int


class ScoreResponse(BaseModel):
    """Scores in the order of the request."""

    scores: list[Match]
    model: int


class Term(BaseModel):
    """The contribution of a query feature and an item feature to a score."""

    query_feature: str
    item_feature: str
    contribution: float


class ExplainResponse(BaseModel):
    """The largest terms of a score; together with `rest` they sum to it."""

    score: float
    terms: list[Term]
    rest: float
    model: int


class Triplet(Body):
    """One item is closer to the query than another."""

    query: Id | Vector
    closer: Id
    farther: Id


class Click(Body):
    """The items shown for a query, in order, and those that were chosen."""

    query: Id | Vector
    shown: list[Id] = Field(min_length=2, max_length=100)
    chose: Id | Annotated[list[Id], Field(min_length=1, max_length=100)]


class FeedbackRequest(Body):
    """Triplets, clicks, or both; a key makes it safe to repeat the request."""

    triplets: list[Triplet] = Field(default=[], max_length=MAX_TRIPLETS)
    clicks: list[Click] = Field(default=[], max_length=100)
    key: Key | None = None
    user: User | None = Field(None, description="Whose feedback it is, to be forgotten later.")

    @model_validator(mode="after")
    def _check_not_empty(self) -> "FeedbackRequest":
        if not self.triplets and not self.clicks:
            raise ValueError("triplets or clicks must be given")
        return self


class Accepted(BaseModel):
    """Number of comparisons written to the journal."""

    accepted: int


class FeedbackState(BaseModel):
    """Comparisons in the journal, and those that the learner has consumed or held out."""

    acknowledged: int
    applied: int


class Undone(BaseModel):
    """Number of comparisons undone."""

    undone: int


class ItemView(BaseModel):
    """An item for display: an image, a text or a row."""

    id: Id
    kind: Literal["image", "text", "row"]
    image: str | None = Field(None, description="A data URL of a PNG.")
    text: str | None = None
    row: dict[str, Any] | None = None
    label: str | None = None


class Question(BaseModel):
    """A question for a person: which of two items is more similar to the query."""

    query: ItemView
    left: ItemView
    right: ItemView
    confidence: float = Field(description="Probability that left is closer.")
    model: int


class Evaluation(BaseModel):
    """Means over held-out queries, and the standard error of candidate − live."""

    model_config = ConfigDict(from_attributes=True)

    live: float | None
    candidate: float | None
    error: float | None
    n: int = Field(description="Number of queries.")


class Verdict(BaseModel):
    """A version compared with the live one on pages of held-out queries."""

    model_config = ConfigDict(from_attributes=True)

    live: int = Field(description="Number of the live version.")
    overall: Evaluation
    seen: Evaluation = Field(description="Over chosen items in the training set.")
    new: Evaluation = Field(description="Over the other chosen items.")
    test: int = Field(description="Number of the test since the last automatic promotion.")
    threshold: float = Field(description="Standard errors that the overall gain must exceed.")
    passes: bool


class ModelVersion(BaseModel):
    """A version of the similarity."""

    version: int
    status: Literal["live", "retired", "rejected", "kept"]
    origin: Literal["file", "learned"]
    learner: Literal["ridge", "aroma"] | None = Field(
        description="None for the model file, and for versions of an earlier release."
    )
    penalty: float | None = Field(
        alias="lambda", description="Penalty on the change of W, in queries; null is infinity."
    )
    gamma: float = Field(description="Step of the item offsets; 0 disables them.")
    share: float | None = Field(description="Fraction of AROMA's change of W.")
    position: int = Field(description="Comparisons consumed at its creation.")
    created: float
    promoted: float | None
    judged: Verdict | None
    available: bool = Field(description="Whether its files exist; old candidates are deleted.")


class Models(BaseModel):
    """All versions, the newest first."""

    live: int
    gate: Literal["open", "held"]
    models: list[ModelVersion]


class LiveVersion(BaseModel):
    """Number of the version that is live now."""

    live: int


class NewItem(Body):
    """An item: its row, its vector, or both (the row is then only shown)."""

    id: Id
    vector: Vector | None = None
    row: dict[Name, Cell | list[Cell]] | None = Field(None, max_length=MAX_FEATURES)

    @model_validator(mode="after")
    def _check_not_empty(self) -> "NewItem":
        if self.vector is None and self.row is None:
            raise ValueError("vector or row must be given")
        return self


class ItemsRequest(Body):
    """Items to add or to replace."""

    items: list[NewItem] = Field(min_length=1, max_length=MAX_ITEMS)


class Changed(BaseModel):
    """Number of changed items."""

    changed: int


class ItemsPage(BaseModel):
    """A page of items in insertion order; `next` is the `after` of the next page."""

    items: list[ItemView]
    total: int
    next: int | None


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


class ServedRecall(BaseModel):
    """The share of the best items that the index finds."""

    recall: float
    k: int
    n_queries: int
    engine: str


class Quality(BaseModel):
    """The quality of the live version on held-out queries."""

    status: Literal["ready", "computing"]
    goodness: Goodness | None = None
    lessons: list[GateResult]
    progress: list[Progress]
    served: ServedRecall | None = None
    standing: BaselineComparison | None = None
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
    similarity: str
    learns: bool
    why_not: str | None = Field(description="Why the model cannot learn.")
    takes_text: bool
    store: Literal["sqlite", "postgresql"]
    engine: str
    live: int
    acknowledged: int
    applied: int


class Error(BaseModel):
    """An error in one sentence."""

    error: str


class Status(BaseModel):
    """The health of the server."""

    status: str
