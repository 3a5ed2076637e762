"""The database derived from the bundles: schema, ingest, queries."""
