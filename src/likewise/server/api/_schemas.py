"""What goes over the wire: the bodies of requests and answers, with their limits."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

MOST_MATCHES = 1_000
MOST_FEATURES = 16_000  # what pgvector stores
MOST_TRIPLETS = 1_000
MOST_COMPARISONS = 10_000  # that the pages of one request make
MOST_ITEMS = 1_000
MOST_LETTERS = 20_000

MOST = 1e12  # beyond it products leave the range of single precision

Number = Annotated[float, Field(allow_inf_nan=False, ge=-MOST, le=MOST)]
Plain = Annotated[StrictStr, Field(pattern=r"^[^\x00]*$")]  # what PostgreSQL takes
Vector = Annotated[list[Number], Field(min_length=1, max_length=MOST_FEATURES)]
Id = (
    Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
    | Annotated[Plain, Field(min_length=1, max_length=200)]
)
Text = Annotated[Plain, Field(max_length=MOST_LETTERS)]
Name = Annotated[Plain, Field(max_length=200)]
Key = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]
Cell = Text | Annotated[StrictInt, Field(ge=-(2**53), le=2**53)] | Number | bool | None


class Body(BaseModel):
    """What a request holds: nothing that is not named."""

    model_config = ConfigDict(extra="forbid")


class Query(Body):
    """One query: a stored item, a vector, or a text where the model takes texts."""

    id: Id | None = None
    vector: Vector | None = None
    text: Text | None = None
    version: Version | None = Field(None, description="A version other than the live one.")

    @model_validator(mode="after")
    def _one_of(self) -> "Query":
        if sum(given is not None for given in (self.id, self.vector, self.text)) != 1:
            raise ValueError("exactly one of id, vector and text is needed")
        return self


Filter = Annotated[
    dict[Name, Cell | Annotated[list[Cell], Field(max_length=100)]],
    Field(max_length=20),
]


class SearchRequest(Query):
    """A search for the items most alike to a query."""

    k: int = Field(10, ge=1, le=MOST_MATCHES)
    filter: Filter | None = Field(
        None, description="Columns and the value, or list of values, that items must have."
    )


class ScoreRequest(Query):
    """Items to be scored with a query."""

    items: list[Id] = Field(min_length=1, max_length=MOST_ITEMS)


class ExplainRequest(Query):
    """An item whose score with a query is to be explained."""

    item: Id
    top: int = Field(10, ge=1, le=100)


class Match(BaseModel):
    """An item and its score."""

    id: Id
    score: float


class SearchAnswer(BaseModel):
    """The items most alike, best first, and the version that found them."""

    matches: list[Match]
    model: int


class ScoreAnswer(BaseModel):
    """Scores in the order of the items asked for."""

    scores: list[Match]
    model: int


class Term(BaseModel):
    """What one feature of the query and one of the item add to a score."""

    query_feature: str
    item_feature: str
    contribution: float


class ExplainAnswer(BaseModel):
    """The strongest terms of a score; with the rest they sum to it."""

    score: float
    terms: list[Term]
    rest: float
    model: int


class Triplet(Body):
    """For this query, one item is closer than another."""

    query: Id | Vector
    closer: Id
    farther: Id


class Click(Body):
    """For this query these items were shown, in this order, and some were chosen."""

    query: Id | Vector
    shown: list[Id] = Field(min_length=2, max_length=100)
    chose: Id | Annotated[list[Id], Field(min_length=1, max_length=100)]


class FeedbackRequest(Body):
    """Comparisons, clicks, or both; a key makes it safe to send again."""

    triplets: list[Triplet] = Field(default=[], max_length=MOST_TRIPLETS)
    clicks: list[Click] = Field(default=[], max_length=100)
    key: Key | None = None

    @model_validator(mode="after")
    def _something(self) -> "FeedbackRequest":
        if not self.triplets and not self.clicks:
            raise ValueError("triplets or clicks are needed")
        return self


class Accepted(BaseModel):
    """How many comparisons were written down, for good."""

    accepted: int


class FeedbackState(BaseModel):
    """Comparisons written down, and those the learner has consumed (held out ones too)."""

    acknowledged: int
    applied: int


class Undone(BaseModel):
    """How many comparisons were taken back."""

    undone: int


class Shown(BaseModel):
    """An item as a person sees it: a picture, a text or a row."""

    id: Id
    kind: Literal["image", "text", "row"]
    image: str | None = Field(None, description="A data URL of a PNG.")
    text: str | None = None
    row: dict[str, Any] | None = None
    label: str | None = None


class Question(BaseModel):
    """A comparison to ask about: is left or right more like the query."""

    query: Shown
    left: Shown
    right: Shown
    confidence: float = Field(description="That the left one is closer, as the learner sees it.")
    model: int


class Judged(BaseModel):
    """Means over held-out queries, and the standard error of candidate − live."""

    live: float | None
    candidate: float | None
    error: float | None
    n: int = Field(description="Queries.")


class Verdict(BaseModel):
    """A version on pages of held-out queries, beside the one then live."""

    live: int = Field(description="The version that was live.")
    overall: Judged
    seen: Judged = Field(description="Over chosen items that training had.")
    new: Judged = Field(description="Over chosen items that training did not have.")
    test: int = Field(description="Number of the test since the last automatic promotion.")
    threshold: float = Field(description="Standard errors that the overall gain must exceed.")
    passes: bool


class ModelVersion(BaseModel):
    """A version of the similarity."""

    version: int
    status: Literal["live", "retired", "rejected", "kept"]
    origin: Literal["file", "learned"]
    learner: Literal["ridge", "aroma"] | None = Field(
        description="None for the model file, and for versions of an earlier likewise."
    )
    penalty: float | None = Field(
        alias="lambda", description="Weight of the start, in queries; null is infinity."
    )
    gamma: float = Field(description="Step of the offsets of judged items; 0 is none.")
    share: float | None = Field(description="Share of what AROMA learned.")
    position: int = Field(description="Comparisons consumed when it was made.")
    created: float
    promoted: float | None
    judged: Verdict | None
    available: bool = Field(description="Whether it can be promoted; old ones that never were go.")


class Models(BaseModel):
    """All versions, the newest first."""

    live: int
    gate: Literal["open", "held"]
    models: list[ModelVersion]


class Live(BaseModel):
    """The version that answers searches from now on."""

    live: int


class NewItem(Body):
    """An item: its columns, or its features, or both (columns are then only shown)."""

    id: Id
    vector: Vector | None = None
    row: dict[Name, Cell | list[Cell]] | None = Field(None, max_length=MOST_FEATURES)

    @model_validator(mode="after")
    def _something(self) -> "NewItem":
        if self.vector is None and self.row is None:
            raise ValueError("vector or row is needed")
        return self


class ItemsRequest(Body):
    """Items to add or to replace."""

    items: list[NewItem] = Field(min_length=1, max_length=MOST_ITEMS)


class Changed(BaseModel):
    """How many items were changed."""

    changed: int


class ItemsPage(BaseModel):
    """Some of the items, in the order they came; `next` is the `after` of the next page."""

    items: list[Shown]
    total: int
    next: int | None


class Moved(BaseModel):
    """A neighbour, and its rank under the other similarity."""

    item: Shown
    score: float
    rank: int
    other_rank: int | None


class Neighbours(BaseModel):
    """The nearest items before and after learning."""

    item: Shown
    base: list[Moved]
    learned: list[Moved]
    base_model: int
    model: int


class Point(BaseModel):
    """An item on the map: before and after learning."""

    id: Id
    before: tuple[float, float]
    after: tuple[float, float]
    label: str | None


class Map(BaseModel):
    """Items in the plane; while it is being computed there are none."""

    status: Literal["ready", "computing"]
    points: list[Point]
    n_items: int
    base_model: int
    model: int


class Curve(BaseModel):
    """A line to draw."""

    x: list[float]
    y: list[float]


class Goodness(BaseModel):
    """Margins in descending order against the share of examples that reach them."""

    of: Literal["labels", "comparisons"]
    before: Curve
    after: Curve
    said_before: str
    said_after: str


class Lesson(BaseModel):
    """What the gate saw at one position of the journal."""

    position: int
    version: int
    overall: Judged
    seen: Judged
    new: Judged
    threshold: float
    promoted: bool


class Progress(BaseModel):
    """Comparisons predicted before they were learned from, summed up to a position."""

    position: int
    asked: int
    right: int


class Stands(BaseModel):
    """Means over held-out queries of the model file and of the live version."""

    base: float | None
    live: float | None
    error: float | None = Field(description="Standard error of live − base.")
    n: int


class Standing(BaseModel):
    """The live version beside the model file, learned again without the queries that judge it."""

    overall: Stands
    seen: Stands
    new: Stands


class Outcome(BaseModel):
    """A comparison that was held out, and what the two similarities say of it."""

    query: Shown
    closer: Shown
    farther: Shown
    margin_before: float
    margin_after: float


class ServedRecall(BaseModel):
    """The share of the truly best items that the index finds."""

    recall: float
    k: int
    n_queries: int
    engine: str


class Quality(BaseModel):
    """How much was learned, on what was held out."""

    status: Literal["ready", "computing"]
    goodness: Goodness | None
    lessons: list[Lesson]
    progress: list[Progress]
    served: ServedRecall | None
    standing: Standing | None
    held_out: int = Field(description="Comparisons of held-out queries.")
    n_won: int
    n_lost: int
    won: list[Outcome]
    lost: list[Outcome]
    base_model: int
    model: int


class Summary(BaseModel):
    """What is served."""

    name: str
    n_items: int
    n_query_features: int | None
    n_item_features: int | None
    kind: Literal["image", "text", "row"]
    columns: list[str]
    label: str | None
    similarity: str
    learns: bool
    why_not: str | None = Field(description="Why it does not learn, where it does not.")
    takes_text: bool
    store: Literal["sqlite", "postgresql"]
    engine: str
    live: int
    acknowledged: int
    applied: int


class Problem(BaseModel):
    """What was wrong, in one sentence."""

    error: str


class Status(BaseModel):
    """Whether the server is well."""

    status: str
