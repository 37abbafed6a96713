"""Online learners of bilinear similarities: AROMA and OASIS."""
