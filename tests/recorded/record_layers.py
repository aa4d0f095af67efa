#!/usr/bin/env python3
"""Records what PyTorch's layers and losses give: writes layers.safetensors beside this file.

Only needed to record again; the tests read the file. For each case NAME there are its operands ("NAME/input0",
...), its parameters ("NAME/weight", ...), the results ("NAME/output0", ...) and the gradients of the sum of the
results' products with fixed factors ("NAME/grad/input0", "NAME/grad/weight", ...). All in float64.
"""

import json
import pathlib
import struct

import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(20)
torch.set_default_dtype(torch.float64)
record = {}


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value if part is not None for t in flat(part)]


def case(name, function, inputs, module=None):
    inputs = [x.clone().requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]
    outputs = flat(function(*inputs))
    total = 0
    for i, y in enumerate(outputs):
        record[f"{name}/output{i}"] = y.detach().clone()
        if y.is_floating_point() and y.requires_grad:
            factors = torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape)
            total = total + (y * factors).sum()
    total.backward()
    for i, x in enumerate(inputs):
        if not torch.is_tensor(x):
            continue
        record[f"{name}/input{i}"] = x.detach().clone()
        if x.is_floating_point() and x.grad is not None:
            record[f"{name}/grad/input{i}"] = x.grad.clone()
    if module is not None:
        for key, parameter in module.named_parameters():
            record[f"{name}/{key}"] = parameter.detach().clone()
            if parameter.grad is not None:
                record[f"{name}/grad/{key}"] = parameter.grad.clone()


def layer(name, module, *inputs):
    case(name, module, inputs, module)


# --- Activations ---
x = torch.randn(3, 4) * 2.5
activations = {
    "elu": nn.ELU(1.3), "selu": nn.SELU(), "celu": nn.CELU(1.3), "relu6": nn.ReLU6(), "leaky_relu": nn.LeakyReLU(0.2),
    "hardshrink": nn.Hardshrink(0.7), "softshrink": nn.Softshrink(0.7), "hardtanh": nn.Hardtanh(-1.5, 0.5),
    "hardsigmoid": nn.Hardsigmoid(), "hardswish": nn.Hardswish(), "logsigmoid": nn.LogSigmoid(),
    "softplus": nn.Softplus(1.5, 2.0), "softsign": nn.Softsign(), "tanhshrink": nn.Tanhshrink(),
    "threshold": nn.Threshold(0.3, -1.0), "glu": nn.GLU(1), "gelu": nn.GELU(), "silu": nn.SiLU(), "mish": nn.Mish(),
    "sigmoid": nn.Sigmoid(), "tanh": nn.Tanh(), "softmin": nn.Softmin(1), "rrelu": nn.RReLU().eval(),
}
for name, module in activations.items():
    layer("activation/" + name, module, x)
prelu = nn.PReLU(4)
with torch.no_grad():
    prelu.weight.uniform_(-0.5, 0.5)
layer("activation/prelu", prelu, x)

# --- Recurrent layers ---
for name, module in {
    "lstm": nn.LSTM(3, 2, num_layers=2, bidirectional=True),
    "gru": nn.GRU(3, 2, num_layers=2, bidirectional=True),
    "rnn": nn.RNN(3, 2, num_layers=2),
    "rnn_relu": nn.RNN(3, 2, nonlinearity="relu", bias=False, bidirectional=True),
    "lstm_one": nn.LSTM(3, 4),
}.items():
    states = torch.randn(module.num_layers * (2 if module.bidirectional else 1), 3, module.hidden_size)
    steps = torch.randn(4, 3, 3)
    if isinstance(module, nn.LSTM):
        case("rnn/" + name, lambda x, h, c: module(x, (h, c)), [steps, states, states.flip(0) * 0.5], module)
    else:
        case("rnn/" + name, lambda x, h: module(x, h), [steps, states], module)


def packed(module):
    def run(x):
        out, state = module(pack_padded_sequence(x, torch.tensor([4, 1, 3]), enforce_sorted=False))
        return pad_packed_sequence(out)[0], state
    return run


for name, module in {"lstm": nn.LSTM(2, 2, bidirectional=True), "gru": nn.GRU(2, 3)}.items():
    case("packed/" + name, packed(module), [torch.randn(4, 3, 2)], module)

for name, module in {"rnn_cell": nn.RNNCell(3, 2), "gru_cell": nn.GRUCell(3, 2)}.items():
    layer("cell/" + name, module, torch.randn(4, 3), torch.randn(4, 2))
module = nn.LSTMCell(3, 2)
case("cell/lstm_cell", lambda x, h, c: module(x, (h, c)), [torch.randn(4, 3), torch.randn(4, 2), torch.randn(4, 2)],
     module)

# --- Convolutions, normalisation, pooling ---
layer("conv_transpose1d", nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
      torch.randn(2, 4, 5))
layer("conv_transpose2d", nn.ConvTranspose2d(2, 3, (2, 3), stride=(2, 1), padding=(0, 1), output_padding=(1, 0)),
      torch.randn(2, 2, 3, 4))
for mode in ["reflect", "replicate", "circular"]:
    layer("conv2d/" + mode, nn.Conv2d(2, 2, 3, padding=(1, 2), padding_mode=mode), torch.randn(1, 2, 5, 4))
layer("conv1d/circular", nn.Conv1d(2, 2, 3, padding=2, padding_mode="circular"), torch.randn(1, 2, 5))
layer("conv1d/same", nn.Conv1d(2, 3, 4, padding="same"), torch.randn(1, 2, 6))
layer("conv1d/same_reflect", nn.Conv1d(2, 3, 4, padding="same", padding_mode="reflect"), torch.randn(1, 2, 6))
layer("instance_norm1d", nn.InstanceNorm1d(3, affine=True), torch.randn(2, 3, 5))
layer("instance_norm2d", nn.InstanceNorm2d(2), torch.randn(2, 2, 3, 4))
layer("local_response_norm", nn.LocalResponseNorm(3, alpha=0.3, beta=0.7, k=1.5), torch.randn(2, 5, 3, 2))
tracking = nn.InstanceNorm1d(3, track_running_stats=True)
layer("instance_norm_tracking", tracking, torch.randn(2, 3, 5))
record["instance_norm_tracking/running_mean"] = tracking.running_mean.clone()
record["instance_norm_tracking/running_var"] = tracking.running_var.clone()

planes = torch.randn(2, 2, 7, 5)
for name, module in {
    "adaptive_max": nn.AdaptiveMaxPool2d((3, 2), return_indices=True),
    "adaptive_avg": nn.AdaptiveAvgPool2d((3, None)),
    "lp": nn.LPPool2d(3, 2, stride=1),
    "max": nn.MaxPool2d(2, stride=2, ceil_mode=True, return_indices=True),
}.items():
    layer("pool/" + name, module, planes.abs() if name == "lp" else planes)
pooled, places = F.max_pool2d(planes, 2, return_indices=True)
case("pool/unpool", lambda x: nn.MaxUnpool2d(2)(x, places, output_size=(7, 5)), [pooled])
record["pool/unpool/places"] = places.clone()
layer("pixel_shuffle", nn.PixelShuffle(2), torch.randn(1, 8, 2, 3))
layer("pixel_unshuffle", nn.PixelUnshuffle(2), torch.randn(1, 2, 4, 6))
layer("bilinear", nn.Bilinear(3, 2, 4), torch.randn(5, 3), torch.randn(5, 2))
layer("cosine_similarity", nn.CosineSimilarity(1), torch.randn(3, 4), torch.randn(3, 4))
layer("pairwise_distance", nn.PairwiseDistance(3.0, keepdim=True), torch.randn(3, 4), torch.randn(3, 4))

# --- Embedding bags ---
words = torch.tensor([1, 2, 4, 5, 4, 3, 2, 0])
for mode in ["sum", "mean", "max"]:
    bag = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    case("bag/" + mode, lambda offsets: bag(words, offsets), [torch.tensor([0, 3, 3])], bag)
bag = nn.EmbeddingBag(6, 3, mode="sum")
case("bag/weighted", lambda weights: bag(words, torch.tensor([0, 4]), weights), [torch.randn(8)], bag)

# --- Attention and transformers ---
attention = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)
hidden = torch.tensor([[False, False, True], [False, False, False]])
mask = torch.triu(torch.ones(3, 3), 1).bool()
case("attention/plain", lambda q, k, v: attention(q, k, v, key_padding_mask=hidden), [torch.randn(3, 2, 4) for _ in range(3)],
     attention)
other = nn.MultiheadAttention(4, 2, kdim=3, vdim=5)
case("attention/dims", lambda q, k, v: other(q, k, v, average_attn_weights=False),
     [torch.randn(3, 2, 4), torch.randn(2, 2, 3), torch.randn(2, 2, 5)], other)
plain = nn.MultiheadAttention(4, 2)
case("attention/masked", lambda q: plain(q, q, q, attn_mask=mask, need_weights=False), [torch.randn(3, 2, 4)], plain)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation="gelu"), 2,
                                norm=nn.LayerNorm(4))
case("transformer/encoder", lambda x: encoder(x, mask), [torch.randn(3, 2, 4)], encoder)
transformer = nn.Transformer(4, 2, 1, 2, 6, dropout=0.0)
case("transformer/all", lambda s, t: transformer(s, t, tgt_mask=mask), [torch.randn(3, 2, 4), torch.randn(3, 2, 4)],
     transformer)

# --- Losses ---
a, b, c = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 3)
signs = torch.tensor([1.0, -1.0, -1.0, 1.0])
losses = {
    "hinge_embedding": (lambda x: F.hinge_embedding_loss(x, signs[:, None].expand(4, 3), margin=0.8), [a]),
    "cosine_embedding": (lambda x, y: F.cosine_embedding_loss(x, y, signs, margin=0.2), [a, b]),
    "margin_ranking": (lambda x, y: F.margin_ranking_loss(x, y, signs[:, None].expand(4, 3), margin=0.3), [a, b]),
    "multi_margin": (lambda x: F.multi_margin_loss(x, torch.tensor([0, 2, 1, 1]), margin=0.7), [a]),
    "multi_margin_2": (lambda x: F.multi_margin_loss(x, torch.tensor([0, 2, 1, 1]), p=2,
                                                     weight=torch.tensor([0.5, 1.0, 2.0]), reduction="none"), [a]),
    "multilabel_margin": (lambda x: F.multilabel_margin_loss(
        x, torch.tensor([[0, 2, -1], [1, -1, 0], [-1, 0, 0], [2, 1, 0]])), [a]),
    "multilabel_soft_margin": (lambda x: F.multilabel_soft_margin_loss(
        x, (b > 0).double(), weight=torch.tensor([0.5, 1.0, 2.0])), [a]),
    "soft_margin": (lambda x: F.soft_margin_loss(x, signs[:, None].expand(4, 3)), [a]),
    "triplet_margin": (lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=1.5, p=2, swap=True), [a, b, c]),
    "poisson_nll": (lambda x: F.poisson_nll_loss(x, b.abs() * 3, full=True), [a]),
    "poisson_nll_rate": (lambda x: F.poisson_nll_loss(x, b.abs(), log_input=False), [a.abs()]),
    "smooth_l1": (lambda x: F.smooth_l1_loss(x, b, beta=0.7), [a]),
    "huber": (lambda x: F.huber_loss(x, b, delta=0.7), [a]),
    "kl_div": (lambda x: F.kl_div(x, b.softmax(1), reduction="batchmean"), [a]),
    "bce_logits": (lambda x: F.binary_cross_entropy_with_logits(
        x, b.sigmoid(), pos_weight=torch.tensor([0.5, 1.0, 2.0])), [a]),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1, 1]), weight=torch.tensor([0.5, 1.0, 2.0]),
                                                label_smoothing=0.1), [a]),
}
for name, (function, operands) in losses.items():
    case("loss/" + name, function, operands)
for name, tensor in {"b": b, "c": c, "signs": signs}.items():
    record["loss/" + name] = tensor.clone()
scores = torch.randn(7, 3, 4)
labels = torch.tensor([[1, 2, 2], [3, 1, 1], [2, 0, 0]])
for reduction in ["mean", "sum", "none"]:
    case("ctc/" + reduction,
         lambda x: F.ctc_loss(x.log_softmax(2), labels, torch.tensor([7, 5, 6]), torch.tensor([3, 2, 1]), reduction=reduction), [scores])

# --- Weight normalisation: with lengths of its own, so that the result is not the plain layer's ---
for name, (module, dim, operand) in {
    "linear": (nn.Linear(4, 3), 0, torch.randn(2, 4)),
    "linear_1": (nn.Linear(4, 3), 1, torch.randn(2, 4)),
    "linear_all": (nn.Linear(4, 3), None, torch.randn(2, 4)),
    "conv1d": (nn.Conv1d(2, 3, 3, padding=1), 0, torch.randn(2, 2, 5)),
    "conv2d": (nn.Conv2d(2, 3, (2, 3)), 0, torch.randn(2, 2, 4, 5)),
    "conv2d_circular": (nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"), 0, torch.randn(1, 2, 4, 5)),
    "conv_transpose1d": (nn.ConvTranspose1d(3, 2, 3, stride=2), 1, torch.randn(2, 3, 4)),
    "conv_transpose2d": (nn.ConvTranspose2d(3, 2, 3), 1, torch.randn(2, 3, 3, 4)),
    "embedding": (nn.Embedding(5, 3), 0, torch.tensor([[0, 4], [1, 1]])),
}.items():
    name = "weight_norm/" + name
    record[name + "/plain"] = module.weight.detach().clone()
    weight_norm(module, dim=dim)
    record[name + "/length"] = module.weight_g.detach().clone()
    with torch.no_grad():
        module.weight_g.mul_(torch.linspace(0.5, 2.5, module.weight_g.numel()).view_as(module.weight_g))
    layer(name, module, operand)

names = {torch.float64: "F64", torch.int64: "I64", torch.bool: "BOOL"}
header, data = {"__metadata__": {"torch": torch.__version__}}, b""
for name, tensor in record.items():
    raw = tensor.contiguous().numpy().tobytes()
    header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header, separators=(",", ":")).encode()
path = pathlib.Path(__file__).with_name("layers.safetensors")
path.write_bytes(struct.pack("<Q", len(text)) + text + data)
print(path, path.stat().st_size, "bytes,", len(record), "arrays")
