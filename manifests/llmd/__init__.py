"""The llm-d router: the pool of engines, the endpoint picker that chooses among them, and how the picker is told to."""
