"""How often detection alarms without a cause and finds what is there: simulation with seeds."""
