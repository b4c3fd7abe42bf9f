#!/usr/bin/env python3
"""Records the profiles in tests/profiles/recorded on this machine's GPU: record.py FOLDER CARD [NAME...]

Each is the third step of a model with random weights, with shapes and memory, unless its decorator says otherwise; needs
transformers and torchvision. Prints beside each what a step takes without a profiler, and the peak of the allocator.
"""

import argparse
import gzip
import os
import re
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gallery"))
MODELS = {}


def model(function=None, *, steps=1, waits=True, shapes=True):
    """steps: how many are recorded; waits: the host waits for the device after each step."""
    def add(function):
        function.steps, function.waits, function.shapes = steps, waits, shapes
        MODELS[function.__name__] = function
        return function
    return add(function) if function else add


def inference(run):
    return torch.no_grad()(run)


def training(loss_of, optimizer, autocast=None):
    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None):
            loss = loss_of()
        loss.backward()
        optimizer.step()
    return step


@model
def bert_half():
    from transformers import BertConfig, BertModel
    bert = BertModel(BertConfig(num_hidden_layers=6, attn_implementation="sdpa")).eval().half()
    tokens = torch.randint(0, 30000, (32, 256))
    return inference(lambda: bert(input_ids=tokens, attention_mask=torch.ones_like(tokens)))


@model
def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel
    sizes = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 8)
    encoder = WhisperModel(WhisperConfig(d_model=512, encoder_layers=6, decoder_layers=2, **sizes)).eval().half().get_encoder()
    sound = torch.randn(8, 80, 3000).half()
    return inference(lambda: encoder(sound))


@model
def convnext_tf32():
    import torchvision
    torch.backends.cuda.matmul.allow_tf32 = True
    convnext = torchvision.models.convnext_tiny().eval()
    images = torch.randn(64, 3, 224, 224)
    return inference(lambda: convnext(images))


@model
def gpt2_autocast():
    from transformers import GPT2Config, GPT2LMHeadModel
    gpt2 = GPT2LMHeadModel(GPT2Config(n_layer=6, use_cache=False)).train()
    tokens = torch.randint(0, 50000, (8, 512))
    return training(lambda: gpt2(input_ids=tokens, labels=tokens).loss, torch.optim.AdamW(gpt2.parameters(), lr=1e-4), torch.bfloat16)


def llama(layers, compiles, tokens, **sizes):
    from transformers import LlamaConfig, LlamaForCausalLM
    network = LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, use_cache=False, **sizes)).train().bfloat16()
    forward = torch.compile(network) if compiles else network
    return training(lambda: forward(input_ids=tokens, labels=tokens).loss, torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True))


@model
def llama_fused():
    return llama(6, False, torch.randint(0, 32000, (8, 1024)), vocab_size=32000, hidden_size=1024, intermediate_size=2816,
                 num_attention_heads=16, num_key_value_heads=4)


@model
def llama_compiled():
    return llama(2, True, torch.randint(0, 16000, (4, 512)), vocab_size=16000, hidden_size=512, intermediate_size=1408,
                 num_attention_heads=8)


@model
def dlrm_train():
    tables = nn.ModuleList(nn.EmbeddingBag(100000, 64, mode="sum") for _ in range(8))
    bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64))
    top = nn.Sequential(nn.Linear(36 + 64, 512), nn.ReLU(), nn.Linear(512, 1))
    dense, offsets, clicked = torch.randn(4096, 13), torch.arange(0, 40960, 10), torch.rand(4096)
    rows = [torch.randint(0, 100000, (40960,)) for _ in tables]
    i, j = torch.tril_indices(9, 9, -1)

    def loss():
        features = bottom(dense)
        together = torch.stack([features] + [table(row, offsets) for table, row in zip(tables, rows)], 1)
        pairs = torch.bmm(together, together.transpose(1, 2))[:, i, j]
        return F.binary_cross_entropy_with_logits(top(torch.cat([features, pairs], 1)).squeeze(1), clicked)
    return training(loss, torch.optim.SGD([*tables.parameters(), *bottom.parameters(), *top.parameters()], lr=0.1))


@model
def unet_autocast():
    from programs import Unet
    unet, images = Unet().train(), torch.randn(16, 3, 128, 128)
    return training(lambda: F.mse_loss(unet(images), images), torch.optim.AdamW(unet.parameters(), lr=1e-4), torch.bfloat16)


# Steps of the kinds that a timeline has to tell apart: streams that overlap, graphs, a host that waits inside of operators,
# blocking copies, a host that runs ahead of the device.


def mlp_of(width, depth, classes=1000):
    return nn.Sequential(*[layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())], nn.Linear(width, classes))


@model
def prefetch_streams():
    """The next batch is copied from page-locked memory on a stream of its own while this one is computed."""
    network, copies = mlp_of(2048, 6), torch.cuda.Stream()
    batches = [torch.randn(4096, 2048, device="cpu").pin_memory() for _ in range(2)]
    targets, state = torch.randint(0, 1000, (4096,)), {"next": batches[0].cuda(), "turn": 0}
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)

    def loss():
        torch.cuda.current_stream().wait_stream(copies)
        batch, state["turn"] = state["next"], 1 - state["turn"]
        batch.record_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copies):
            state["next"] = batches[state["turn"]].to("cuda", non_blocking=True)
        return F.cross_entropy(network(batch), targets)
    return training(loss, optimizer)


@model
def two_branches():
    """Two towers of a network on two streams."""
    towers, side = [mlp_of(1024, 4), mlp_of(1024, 4)], torch.cuda.Stream()
    x = torch.randn(1024, 1024)

    def run():
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            right = towers[1](x)
        left = towers[0](x)
        main.wait_stream(side)
        return (left * right).sum()
    return inference(run)


@model
def graphed_forward():
    """Forward and backward pass are launched as one CUDA graph, the optimizer eagerly; the loss goes to the host."""
    network, x, y = mlp_of(1024, 8), torch.randn(512, 1024), torch.randint(0, 1000, (512,))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, foreach=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            F.cross_entropy(network(x), y).backward()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = F.cross_entropy(network(x), y)
        loss.backward()

    def step():
        optimizer.zero_grad(set_to_none=False)
        graph.replay()
        optimizer.step()
        return loss.item()
    step.kept = network, x, y  # a graph holds addresses, not tensors
    return step


@model
def decode_waits():
    """Eight tokens of a Llama, each of which the host waits for."""
    from transformers import LlamaConfig, LlamaForCausalLM
    network = LlamaForCausalLM(LlamaConfig(num_hidden_layers=4, vocab_size=32000, hidden_size=1024, intermediate_size=2816,
                                           num_attention_heads=16, num_key_value_heads=4)).eval().bfloat16()
    prompt = torch.randint(0, 32000, (4, 256))

    def run():
        tokens, cache = prompt, None
        for _ in range(8):
            out = network(input_ids=tokens, past_key_values=cache, use_cache=True)
            cache, tokens = out.past_key_values, out.logits[:, -1:].argmax(-1)
            if (tokens == 2).all().item():
                break
    return inference(run)


@model
def blocking_copies():
    """Batches from pageable memory, a mask whose size the host has to know, losses that go back."""
    network = mlp_of(1024, 6)
    batch, optimizer = torch.randn(8192, 1024, device="cpu"), torch.optim.Adam(network.parameters(), lr=1e-4)

    def step():
        x = batch.cuda()
        kept = x[x[:, 0] > 0]
        loss = network(kept).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach().cpu()
    return step


@model(steps=4, waits=False)
def host_ahead():
    """The host launches the next step while the device is at work."""
    import torchvision
    resnet = torchvision.models.resnet18().train().to(memory_format=torch.channels_last)
    images, labels = torch.randn(256, 3, 224, 224).to(memory_format=torch.channels_last), torch.randint(0, 1000, (256,))
    return training(lambda: F.cross_entropy(resnet(images), labels), torch.optim.SGD(resnet.parameters(), lr=0.1, momentum=0.9, fused=True),
                    torch.bfloat16)


@model(shapes=False)
def no_shapes():
    return gpt2_autocast()


def one_rank():
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29581")):
        os.environ.setdefault(name, value)
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))


@model(steps=3, waits=False)
def ddp_one_rank():
    one_rank()
    network = nn.parallel.DistributedDataParallel(mlp_of(2048, 6), device_ids=[0])
    x, y = torch.randn(2048, 2048), torch.randint(0, 1000, (2048,))
    return training(lambda: F.cross_entropy(network(x), y), torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True))


@model(steps=2, waits=False)
def fsdp2_one_rank():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    one_rank()
    layers = nn.Sequential(*[mlp_of(1024, 2, 1024) for _ in range(4)])
    for layer in layers:
        fully_shard(layer, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    fully_shard(layers)
    x = torch.randn(4096, 1024)
    return training(lambda: layers(x).float().square().mean(), torch.optim.AdamW(layers.parameters(), lr=1e-4))


@model
def experts():
    """A mixture of eight experts as a loop: the host reads how many tokens each got."""
    experts, router = nn.ModuleList(nn.Sequential(nn.Linear(1024, 2816), nn.SiLU(), nn.Linear(2816, 1024)) for _ in range(8)), nn.Linear(1024, 8)
    x = torch.randn(4096, 1024)
    network = nn.ModuleList([experts, router]).bfloat16()
    tokens = x.bfloat16()

    def loss():
        weights, chosen = router(tokens).float().softmax(-1).topk(2)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(experts):
            rows, place = torch.where(chosen == number)
            out.index_add_(0, rows, expert(tokens[rows]) * weights[rows, place, None].to(tokens.dtype))
        return out.float().square().mean()
    return training(loss, torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True))


def record(function, step, path):
    """Milliseconds of a step without a profiler."""
    times_ms = []
    for _ in range(25 if function.waits else 5):
        begin = time.perf_counter()
        repeats = 1 if function.waits else 10
        for _ in range(repeats):
            step()
        torch.cuda.synchronize()
        times_ms.append(1e3 * (time.perf_counter() - begin) / repeats)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=function.shapes, profile_memory=function.shapes,
                 schedule=torch.profiler.schedule(wait=0, warmup=2, active=function.steps, repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(path))) as profiler:
        for _ in range(2 + function.steps):
            step()
            if function.waits:
                torch.cuda.synchronize()
            profiler.step()
    text = re.sub(r'"traceName": "[^"]*"', f'"traceName": "{path.name}"', path.read_text(encoding="utf-8"))
    text = re.sub(r"/tmp/torchinductor_\w+/\w+/", "", text)
    with open(f"{path}.gz", "wb") as sink, gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as packed:
        packed.write(text.encode())
    path.unlink()
    return statistics.median(times_ms[len(times_ms) // 5:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("card", help="for the files' names: h100")
    parser.add_argument("names", nargs="*", choices=[*MODELS, []], help="default: all")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        torch.manual_seed(1)
        torch.backends.cuda.matmul.allow_tf32 = False
        with torch.device("cuda"):
            step = MODELS[name]()
        torch.cuda.reset_peak_memory_stats()
        step_ms = record(MODELS[name], step, arguments.folder / f"{name}_{arguments.card}.json")
        print(f"{name}: {step_ms:.3f} ms, {torch.cuda.max_memory_allocated():,} bytes", flush=True)
        del step
        torch.cuda.empty_cache()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
