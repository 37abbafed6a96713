"""The bodies of requests and responses, with their limits."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)

MAX_MATCHES = 1_000
MAX_FEATURES = 16_000  # the limit of pgvector
MAX_TRIPLETS = 1_000
MAX_COMPARISONS = 10_000  # in the pages of one request
MAX_ITEMS = 1_000
MAX_CHARACTERS = 20_000
MAX_ID = 2**53  # larger whole numbers are rounded by JavaScript
MAX_NAME = 200

MAX_NUMBER = 1e12  # products of larger numbers overflow single precision

Number = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_NUMBER, le=MAX_NUMBER)]
Plain = Annotated[StrictStr, Field(pattern=r"^[^\x00]*$")]  # PostgreSQL rejects null bytes
Vector = Annotated[list[Number], Field(min_length=1, max_length=MAX_FEATURES)]
_VECTOR = (
    "The numbers that the similarity compares. Where the model encodes tables, this is an encoded "
    "row, as `transform_queries` of the loaded model file returns it, and not the cells of a row."
)
Id = (
    Annotated[StrictInt, Field(ge=-MAX_ID, le=MAX_ID)]
    | Annotated[Plain, Field(min_length=1, max_length=MAX_NAME)]
)
Text = Annotated[Plain, Field(max_length=MAX_CHARACTERS)]
Name = Annotated[Plain, Field(max_length=200)]
Key = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
User = Annotated[Plain, Field(min_length=1, max_length=200)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]
Cell = Text | Annotated[StrictInt, Field(ge=-(2**53), le=2**53)] | Number | bool | None


def is_id(given: int | str) -> bool:
    """Tell whether a whole number or a text is within the limits of `Id`."""
    if isinstance(given, str):
        return 1 <= len(given) <= MAX_NAME and "\0" not in given
    return -MAX_ID <= given <= MAX_ID


class Body(BaseModel):
    """A request body; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class QueryValue(Body):
    """A query: the id of an item, a vector, or a text where the model takes texts."""

    id: Id | None = None
    vector: Vector | None = Field(default=None, description=_VECTOR)
    text: Text | None = None

    @model_validator(mode="after")
    def _check_one_given(self) -> "QueryValue":
        if sum(given is not None for given in (self.id, self.vector, self.text)) != 1:
            raise ValueError("exactly one of id, vector and text must be given")
        return self


class Query(QueryValue):
    """A query, and the version that answers it."""

    version: Version | None = Field(None, description="A version other than the live one.")


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
    user: User | None = Field(None, description="Who searches; a canary answers a share of users.")
    rows: bool = Field(False, description="Whether matches have the rows of their items.")


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


class FoundItem(Match):
    """An item that was found; with its row if the search asks for rows."""

    row: dict[str, Any] | None = None


class SearchResponse(BaseModel):
    """The most similar items, best first, and the version that found them."""

    matches: list[FoundItem]
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


def _query_kind(given: Any) -> str:
    if isinstance(given, dict | QueryValue):
        return "query"
    return "vector" if isinstance(given, list) else "id"


FeedbackQuery = Annotated[
    Annotated[Id, Tag("id")]
    | Annotated[Vector, Tag("vector")]
    | Annotated[QueryValue, Tag("query")],
    Discriminator(_query_kind),
]


class Triplet(Body):
    """One item is closer to the query than another."""

    query: FeedbackQuery
    closer: Id
    farther: Id


class Click(Body):
    """The items shown for a query, in order, and those that were chosen."""

    query: FeedbackQuery
    shown: list[Id] = Field(min_length=2, max_length=100)
    chose: Id | Annotated[list[Id], Field(min_length=1, max_length=100)]
    model: Version | None = Field(
        None, description="The `model` of the search; by default that of its user or query now."
    )


class Pair(Body):
    """Whether an item is the same as the query, or of the same kind."""

    query: FeedbackQuery
    item: Id
    same: bool


class FeedbackRequest(Body):
    """Triplets, clicks and pairs; a key makes it safe to repeat the request."""

    triplets: list[Triplet] = Field(default=[], max_length=MAX_TRIPLETS)
    clicks: list[Click] = Field(default=[], max_length=100)
    pairs: list[Pair] = Field(default=[], max_length=MAX_TRIPLETS)
    key: Key | None = None
    user: User | None = Field(None, description="Whose feedback it is, to be forgotten later.")

    @model_validator(mode="after")
    def _check_not_empty(self) -> "FeedbackRequest":
        if not self.triplets and not self.clicks and not self.pairs:
            raise ValueError("triplets, clicks or pairs must be given")
        return self


class Accepted(BaseModel):
    """Number of comparisons and pairs written to the journal."""

    accepted: int


class FeedbackState(BaseModel):
    """Judgments in the journal, and those that the learner has consumed or held out."""

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
    title: str | None = Field(None, description="Title of a text.")
    text: str | None = None
    row: dict[str, Any] | None = Field(None, description="Of a text, its other cells.")
    label: str | None = None


class Question(BaseModel):
    """A question for a person: which of two items is more similar to the query.

    Without `right` the question is whether `query` and `left` are the same.
    """

    query: ItemView
    left: ItemView
    right: ItemView | None
    confidence: float | None = Field(
        description="Probability that left is closer; null in a question about a pair."
    )
    model: int


class Goal(BaseModel):
    """How many answers there are, and how many more the next version needs."""

    answers: int = Field(description="Comparisons and pairs without undone ones.")
    needed: int | None = Field(
        description="Estimated answers until the next version; null if none is better so far."
    )
    check: int = Field(description="Answers until the next candidate is evaluated.")
    evaluated: bool = Field(description="Whether a candidate was evaluated since the last version.")


class Evaluation(BaseModel):
    """Means over held-out queries, and the standard error of candidate − live."""

    model_config = ConfigDict(from_attributes=True)

    live: float | None
    candidate: float | None
    error: float | None
    n: int = Field(description="Number of queries.")


class Verdict(BaseModel):
    """A version compared with another one on pages of held-out queries."""

    model_config = ConfigDict(from_attributes=True)

    live: int = Field(description="Number of the live version.")
    overall: Evaluation
    seen: Evaluation = Field(description="Over chosen items in the training set.")
    new: Evaluation = Field(description="Over the other chosen items.")
    test: int = Field(description="Number of the test since the last automatic promotion.")
    threshold: float = Field(description="Standard errors that the overall gain must exceed.")
    passes: bool
    against: int | None = Field(
        default=None,
        description="Number of the version it was compared with; null for the live one.",
    )


class ModelVersion(BaseModel):
    """A version of the similarity."""

    version: int
    status: Literal["live", "retired", "rejected", "kept"]
    origin: Literal["file", "learned"]
    learner: Literal["ridge", "plda", "aroma"] | None = Field(
        description="None for the model file, and for versions of an earlier release."
    )
    penalty: float | None = Field(
        alias="lambda", description="Penalty on the change of W, in queries; null is infinity."
    )
    gamma: float = Field(description="Step of the item offsets; 0 disables them.")
    share: float | None = Field(description="Fraction of AROMA's change of W.")
    lexical: float = Field(description="Weight of the lexical score.")
    rank: int | None = Field(description="Number of principal directions in which PLDA learns.")
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
    vector: Vector | None = Field(
        default=None, description=_VECTOR.replace("transform_queries", "transform")
    )
    row: dict[Name, Cell | list[Cell]] | None = Field(
        default=None,
        max_length=MAX_FEATURES,
        description="The cells by column; the server encodes them.",
    )

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


class ServedRecall(BaseModel):
    """The share of the best items that the index finds."""

    recall: float
    k: int
    n_queries: int
    engine: str


class Arm(BaseModel):
    """Searches and clicks since the live version became live, of one side of a canary."""

    version: int | None = Field(description="The version now; null while there is no candidate.")
    searches: int
    pages: int = Field(description="Pages on which something was chosen.")
    clicks: int
    mrr: float | None = Field(description="Mean reciprocal rank of the first item chosen.")
    error: float | None = Field(description="Standard error of the mean.")


class Canary(BaseModel):
    """An A/B test of the live version and of the candidates after it."""

    share: float
    live: Arm
    candidate: Arm


class Error(BaseModel):
    """An error in one sentence."""

    error: str


class Status(BaseModel):
    """The health of the server."""

    status: str
