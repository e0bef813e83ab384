"""Pictures of what a model learned and did."""
