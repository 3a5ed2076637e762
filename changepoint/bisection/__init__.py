"""Find the revision that changed a noisy level, with as few builds as possible."""
