"""The value and the cost of alarms: precision, machine time, money, replays."""
