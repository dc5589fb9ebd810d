"""What runs where the engines are installed (``.venv-engines``): it imports them, and nothing of ours."""
