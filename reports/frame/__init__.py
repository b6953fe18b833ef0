"""The frame of a page: its parts, HTML, files and index."""
