"""Neighborhood components analysis and MLKR, as printed: sums over pairs of rows, in loops."""

import numpy as np


def log_probabilities(L, X, weights):
    """Return log p_ij: the log-probability that row i chooses row j; −∞ for itself."""
    n = len(X)
    logs = np.full((n, n), -np.inf)
    for i in range(n):
        for j in range(n):
            if i != j and weights[j] > 0:
                gap = L @ (X[i] - X[j])
                logs[i, j] = np.log(weights[j]) - gap @ gap
        logs[i] -= log_sum(logs[i])
    return logs


def log_sum(logs):
    """Return log Σ exp, relative to the maximum."""
    return logs.max() + np.log(np.sum(np.exp(logs - logs.max())))


def class_terms(L, X, y, weights):
    """Return log p_i, the log-probability of a neighbor of the own class; NaN without one."""
    logs = log_probabilities(L, X, weights)
    terms = np.full(len(X), np.nan)
    for i in range(len(X)):
        own = [j for j in range(len(X)) if j != i and y[j] == y[i] and weights[j] > 0]
        if own and weights[i] > 0:
            terms[i] = log_sum(logs[i, own])
    return terms


def likelihood(L, X, y, weights):
    """Return the weighted mean of log p_i."""
    return weighted_mean(class_terms(L, X, y, weights), weights)


def accuracy(L, X, y, weights):
    """Return the weighted mean of p_i."""
    return weighted_mean(np.exp(class_terms(L, X, y, weights)), weights)


def regression(L, X, Y, weights):
    """Return the weighted mean of ‖Σ_j p_ij y_j − y_i‖²."""
    predicted = np.exp(log_probabilities(L, X, weights)) @ Y
    return weighted_mean(((predicted - Y) ** 2).sum(axis=1), weights)


def weighted_mean(terms, weights):
    """Return the weighted mean of the terms that are not NaN."""
    known = ~np.isnan(terms)
    return float(np.sum(weights[known] * terms[known]) / np.sum(weights[known]))


def class_gradient(L, X, y, weights, kind):
    """Return the gradient: Σ W_ij · (−∂d_ij/∂L), with W of the likelihood or the accuracy."""
    logs = log_probabilities(L, X, weights)
    terms = class_terms(L, X, y, weights)
    anchors = np.flatnonzero(~np.isnan(terms))
    gradient = np.zeros_like(L, dtype=np.float64)
    for i in anchors:
        for j in range(len(X)):
            p_ij = np.exp(logs[i, j])
            own = np.exp(logs[i, j] - terms[i]) if y[i] == y[j] else 0.0  # p_ij / p_i
            by_pair = own - p_ij
            if kind == "accuracy":
                by_pair *= np.exp(terms[i])
            gradient -= weights[i] * by_pair * pair_gradient(L, X, i, j)
    return gradient / weights[anchors].sum()


def regression_gradient(L, X, Y, weights):
    """Return the gradient of `regression`."""
    p = np.exp(log_probabilities(L, X, weights))
    predicted = p @ Y
    gradient = np.zeros_like(L, dtype=np.float64)
    for i in range(len(X)):
        for j in range(len(X)):
            by_pair = 2 * p[i, j] * (predicted[i] - Y[i]) @ (Y[j] - predicted[i])
            gradient -= weights[i] * by_pair * pair_gradient(L, X, i, j)
    return gradient / weights.sum()


def pair_gradient(L, X, i, j):
    """Return ∂‖L(x_i − x_j)‖²/∂L."""
    gap = X[i] - X[j]
    return 2 * np.outer(L @ gap, gap)


def kernel_prediction(L, X, Y, weights, queries):
    """Return Σ_j p_j y_j for rows that were not trained on."""
    found = []
    for q in queries:
        logs = np.array([np.log(v) - np.sum((L @ (q - x)) ** 2) for x, v in zip(X, weights)])  # noqa: B905
        found.append(np.exp(logs - log_sum(logs)) @ Y)
    return np.array(found)
