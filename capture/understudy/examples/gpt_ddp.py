"""A small GPT under DistributedDataParallel, several gradient buckets, AdamW tensor by tensor."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import common
import gpt

BUCKET_MB = 4  # small, so that this small model has several buckets


def build():
    return gpt.build(lambda parameters: torch.optim.AdamW(parameters, lr=3e-4),
                     wrap=lambda model: DistributedDataParallel(model, bucket_cap_mb=BUCKET_MB))


if __name__ == "__main__":
    common.start_ranks(__doc__)
    common.run(build, __doc__)
    dist.destroy_process_group()
