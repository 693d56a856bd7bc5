"""Train a small network on handwritten digits with PyTorch, stop within an epoch, and resume.

Run it: python examples/train_pytorch.py
Needs: pip install "deeplake-lite[demo,torch]"
"""

import tempfile

import torch
from sklearn.datasets import load_digits

import deeplake_lite as dl


def make_lake(url):
    """Write the digits that come with scikit-learn."""
    digits = load_digits()
    ds = dl.create(
        url,
        {"image": dl.Image("png"), "label": dl.ClassLabel([str(i) for i in range(10)])},
    )
    ds.append({"image": (digits.images * 15).astype("uint8"), "label": digits.target})
    ds.commit("scikit-learn's digits, 8 × 8 pixels")
    return ds


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as scratch:
        ds = make_lake(f"{scratch}/digits.lake")
        train, test = ds.split([0.8, 0.2], by="label", seed=0)

        model = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        ).to(device)
        optimizer = torch.optim.Adam(model.parameters(), 0.005)

        def step(batch):
            logits = model(batch["image"].float() / 255)
            loss = torch.nn.functional.cross_entropy(logits, batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        loader = train.pytorch(32, shuffle=True, seed=1, device=device)
        print(loader)
        for epoch in range(4):
            losses = [step(batch) for batch in loader]
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}")

        for number, batch in enumerate(loader, start=1):
            step(batch)
            if number == 20:
                break
        state = loader.state_dict()  # a few hundred bytes, to be saved with the model's state
        loader.close()

        resumed = train.pytorch(32, shuffle=True, seed=1, device=device)
        resumed.load_state_dict(state)
        losses = [step(batch) for batch in resumed]
        print(f"epoch {resumed.epoch}: {len(losses)} of {len(resumed)} batches were left")
        assert len(losses) == len(resumed) - 20

        (batch,) = test.pytorch(len(test), device=device)
        predictions = model(batch["image"].float() / 255).argmax(1)
        accuracy = (predictions == batch["label"]).float().mean().item()
        print(f"accuracy on {len(test)} test digits: {accuracy:.1%}")
        assert accuracy > 0.9


if __name__ == "__main__":
    main()
