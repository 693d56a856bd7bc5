"""One of two processes that train a model together; it writes the rows that it saw as JSON."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import deeplake_lite as dl


def main():
    dist.init_process_group("gloo", init_method="env://")
    rank = int(os.environ.pop("RANK"))  # so that only torch.distributed knows the rank
    os.environ.pop("WORLD_SIZE")
    ds = dl.open(sys.argv[1])
    loader = ds.pytorch(50, shuffle=True, seed=1, row_ids=True)
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    model = DistributedDataParallel(layers)
    seen, losses, batches = [], [], 0
    for _ in range(2):
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["image"].float()), batch["label"])
            loss.backward()
            with torch.no_grad():  # optimizers take five seconds to import
                for parameter in model.parameters():
                    parameter -= 0.05 * parameter.grad
                    parameter.grad = None
            losses.append(loss.item())
            batches += 1
            seen += batch["_row_id"][~batch["_padding"]].tolist()
        dist.barrier()
    weight = layers[1].weight.sum().item()
    shares = loader.shares
    result = [rank, shares.rank, shares.world_size, batches, seen, losses, weight]
    sys.stdout.write(json.dumps(result))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
