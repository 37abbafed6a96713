"""Large margin nearest neighbors (Weinberger, Blitzer and Saul, 2005)."""
