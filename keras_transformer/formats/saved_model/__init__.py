"""SavedModels: written and run."""
