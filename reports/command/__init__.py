"""What a command of reports does: its plan, the gallery, the papers tables."""
