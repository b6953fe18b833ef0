"""What belongs to draws of any posterior: diagnostics of chains, and the evidence by bridge sampling."""
