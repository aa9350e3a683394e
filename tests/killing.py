"""A run that ends in the middle, as a power cut would end it."""

from hibnn.runs.progress import Silent


class KilledError(Exception):
    pass


class KillAfter(Silent):
    """Ends the run after some epochs (the classes of a density count as such)."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def epoch(self, terms: dict[str, float]) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError
