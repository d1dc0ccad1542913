"""LightningCLI: model, data and trainer come from files and dotted options."""

from engine.estimate import estimate
from engine.project import Project

MAIN = """
import torch
import lightning as L
from lightning.pytorch.cli import LightningCLI

class Net(L.LightningModule):
    def __init__(self, width: int = 8):
        super().__init__()
        self.net = torch.nn.Linear(width, width)
    def training_step(self, batch, index):
        return self.net(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

class Data(L.LightningDataModule):
    def __init__(self, width: int = 8, batch_size: int = 2):
        super().__init__()
        self.width, self.batch_size = width, batch_size
    def train_dataloader(self):
        rows = torch.utils.data.TensorDataset(torch.randn(1000, self.width))
        return torch.utils.data.DataLoader(rows, batch_size=self.batch_size)

if __name__ == "__main__":
    LightningCLI(Net, Data)
"""
CONFIGURATION = """
model: {class_path: main.Net, init_args: {width: 1024}}
data: {width: 1024, batch_size: 16}
trainer: {precision: bf16-mixed, max_epochs: 1}
"""


def test_options_stand_over_the_file() -> None:
    files = {
        "main.py": MAIN,
        "conf.yaml": CONFIGURATION,
        "run.sh": "python main.py fit --config conf.yaml --data.batch_size 64\n",
    }
    report = estimate(Project.from_mapping(files), "run.sh", savings=False)
    assert report.model.parameters == 1024 * 1024 + 1024
    seen = {key: setting.value for key, setting in report.configuration.items()}
    assert (seen["batch_size"], seen["precision"]) == (64, "amp-bf16")
