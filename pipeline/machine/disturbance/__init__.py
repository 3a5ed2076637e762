"""What disturbs a step while it is measured: what else the machine did, or suffered, meanwhile."""
