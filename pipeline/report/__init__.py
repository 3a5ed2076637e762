"""Reports for people: tables and the report page."""
