"""Why is it slower? Two sides of a change, looked at in everything that was recorded."""
