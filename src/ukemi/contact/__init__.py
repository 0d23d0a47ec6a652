"""Contact: what figures touch, under which conditions, and with which forces."""
