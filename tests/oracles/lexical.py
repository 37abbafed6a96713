"""BM25 as printed, and the mix of a similarity with it, in plain loops."""

from math import log


def bm25(texts, query, k1=1.5, b=0.75):
    """Return the scores of texts, given as lists of words, divided by the highest.

    The variant of Lucene: idf = ln(1 + (N − n + ½) / (n + ½)), and without the factor k₁ + 1, which
    does not change any order (Kamphuis et al., 2020).
    """
    mean_length = sum(len(words) for words in texts) / len(texts)
    scores = []
    for words in texts:
        score = 0.0
        for word in set(query):
            n = sum(word in other for other in texts)
            if n == 0:
                continue
            idf = log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            frequency = words.count(word)
            saturation = k1 * (1 - b + b * len(words) / mean_length)
            score += idf * frequency / (frequency + saturation)
        scores.append(score)
    best = max(scores)
    return [score / best if best > 0 else 0.0 for score in scores]


def scale(pages, similarities, lexical):
    """Return the ratio of the deviations of two scores around the means of their pages."""

    def deviation(scores):
        squares = []
        for page in set(pages):
            own = [s for p, s in zip(pages, scores, strict=True) if p == page]
            mean = sum(own) / len(own)
            squares += [(score - mean) ** 2 for score in own]
        return (sum(squares) / len(squares)) ** 0.5

    below = deviation(lexical)
    return deviation(similarities) / below if below > 0 else 0.0
