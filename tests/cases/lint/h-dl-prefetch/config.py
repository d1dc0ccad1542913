from dataclasses import dataclass


@dataclass
class DataConfig:
    root: str = "data"
    batch_size: int = 64
    workers: int = 0
