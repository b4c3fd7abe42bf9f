"""A graph network: attention over edges, scattered maxima and sums, a sparse product, Adadelta."""

import torch
import torch.nn.functional as F
from torch import nn

import common

NODES, EDGES, FEATURES, WIDTH, HEADS, CLASSES = 6000, 40000, 64, 64, 4, 24


def per_node(values, target, how):
    """values (edges, heads) joined by their target node."""
    index = target.unsqueeze(1).expand_as(values)
    return values.new_zeros(NODES, values.shape[1]).scatter_reduce(0, index, values, how,
                                                                   include_self=False)


class Attention(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.linear = nn.Linear(inputs, WIDTH, bias=False)
        self.of_source = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS) * 0.1)
        self.of_target = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS) * 0.1)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x, source, target):
        y = self.linear(x).unflatten(1, (HEADS, -1))
        at_source, at_target = (y * self.of_source).sum(-1), (y * self.of_target).sum(-1)
        scores = F.leaky_relu(at_source[source] + at_target[target], 0.2)
        scores = (scores - per_node(scores, target, "amax").detach()[target]).exp()
        weights = scores / (per_node(scores, target, "sum")[target] + 1e-9)
        sent = (y[source] * weights.unsqueeze(-1)).flatten(1)
        gathered = torch.zeros(NODES, WIDTH).index_add(0, target, sent)
        return F.gelu(self.norm(gathered) + y.flatten(1), approximate="tanh")


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Attention(FEATURES), Attention(WIDTH)
        self.head = nn.Linear(2 * WIDTH, CLASSES)

    def forward(self, x, edges, neighbours):
        source, target = edges
        x = F.dropout(self.first(x, source, target), 0.2, self.training)
        x = self.second(x, source, target)
        return self.head(torch.cat([x, torch.sparse.mm(neighbours, x)], dim=1))


def batch():
    """Edges of a graph whose few hubs have many, its matrix divided by degree, a tenth labelled."""
    target = (torch.rand(EDGES).square() * NODES).long()
    edges = torch.stack([torch.randint(0, NODES, (EDGES,)), target])
    degree = torch.bincount(target, minlength=NODES).clamp(min=1).float()
    matrix = torch.sparse_coo_tensor(edges.flip(0), 1.0 / degree[target], (NODES, NODES)).coalesce()
    known = torch.rand(NODES) < 0.1
    return torch.randn(NODES, FEATURES), edges, matrix, known, torch.randint(0, CLASSES, (NODES,))


def build():
    model = Network()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, weight_decay=1e-4)
    next_batch = common.cycling(batch)

    def step():
        x, edges, matrix, known, labels = next_batch()
        scores = model(x, edges, matrix)[known]
        loss = F.nll_loss(scores.log_softmax(dim=-1), labels[known])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    common.run(build, __doc__)
