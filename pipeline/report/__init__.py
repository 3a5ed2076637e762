"""What people read: tables and the report page."""
