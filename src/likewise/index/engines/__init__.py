"""Engines that search vectors: exact, faiss and usearch."""
