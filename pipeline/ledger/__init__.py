"""What alarms were worth and what they cost: precision, machine time, money, replays."""
