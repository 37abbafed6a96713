"""The HTTP interface: routes, schemas and middleware."""
