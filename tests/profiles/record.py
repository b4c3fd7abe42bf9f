#!/usr/bin/env python3
"""Records the profiles in tests/profiles/recorded on this machine's GPU: record.py FOLDER CARD [NAME...]

Each is the third step of a model with random weights, with shapes and memory; needs transformers and torchvision. Prints beside each
what a step takes without a profiler, and the peak of the allocator.
"""

import argparse
import gzip
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


def model(function):
    MODELS[function.__name__] = function
    return function


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
    mask = torch.ones_like(tokens)
    return inference(lambda: bert(input_ids=tokens, attention_mask=mask))


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


def make_step(name):
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.device("cuda"):
        return MODELS[name]()


def record(step, path):
    """Milliseconds of a step without a profiler."""
    times_ms = []
    for _ in range(25):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times_ms.append(1e3 * (time.perf_counter() - begin))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True,
                 schedule=torch.profiler.schedule(wait=0, warmup=2, active=1, repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(path))) as profiler:
        for _ in range(3):
            step()
            torch.cuda.synchronize()
            profiler.step()
    text = re.sub(r'"traceName": "[^"]*"', f'"traceName": "{path.name}"', path.read_text(encoding="utf-8"))
    text = re.sub(r"/tmp/torchinductor_\w+/\w+/", "", text)
    with open(f"{path}.gz", "wb") as sink, gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0) as packed:
        packed.write(text.encode())
    path.unlink()
    return statistics.median(times_ms[5:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("card", help="for the files' names: h100")
    parser.add_argument("names", nargs="*", choices=[*MODELS, []], help="default: all")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        step = make_step(name)
        torch.cuda.reset_peak_memory_stats()
        step_ms = record(step, arguments.folder / f"{name}_{arguments.card}.json")
        print(f"{name}: {step_ms:.3f} ms, {torch.cuda.max_memory_allocated():,} bytes", flush=True)
        del step
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
