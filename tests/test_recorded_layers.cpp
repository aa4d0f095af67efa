// Layers and losses against what PyTorch gave for them (recorded/record_layers.py): results and gradients, in
// float64.

#include <filesystem>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/io/safetensors.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/device.h"

using namespace halftone;
namespace F = halftone::nn::functional;

namespace {

const io::SafeTensors& recorded() {
  static const io::SafeTensors file = io::load_safetensors(
      (std::filesystem::path(__FILE__).parent_path() / "recorded" / "layers.safetensors").string());
  return file;
}

/// The recorded tensor on the device of the tests.
Tensor record(const std::string& name) {
  const Tensor* found = recorded().tensors.find(name);
  if (!found) FAIL("nothing is recorded as " << name);
  return found->to(get_default_device(), found->scalar_type(), false, /*copy=*/true);
}
bool is_recorded(const std::string& name) { return recorded().tensors.contains(name); }

void check_close(const Tensor& got, const Tensor& expected, double tolerance = 1e-9) {
  REQUIRE(got.sizes() == expected.sizes());
  if (!expected.is_floating_point()) {
    CHECK(equal(got.to(kCPU, kLong), expected.to(kCPU, kLong)));
    return;
  }
  const Tensor a = got.detach().to(kCPU, kDouble), b = expected.to(kCPU, kDouble);
  INFO("largest difference " << (a.numel() == 0 ? 0.0 : (a - b).abs().max().item<double>()));
  CHECK(allclose(a, b, tolerance, tolerance / 10));
}

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Runs `function` on the recorded operands, with the recorded parameters in `module`.
void check_case(const std::string& name, const Function& function, nn::Module* module = nullptr,
                double tolerance = 1e-9) {
  INFO(name);
  if (module) {
    module->to(kDouble);
    NoGradGuard no_grad;
    for (const auto& item : module->named_parameters()) {
      INFO(item.key());
      REQUIRE(is_recorded(name + "/" + item.key()));
      item.value().copy_(record(name + "/" + item.key()));
    }
  }
  std::vector<Tensor> inputs;
  for (int i = 0; is_recorded(name + "/input" + std::to_string(i)); ++i) {
    inputs.push_back(record(name + "/input" + std::to_string(i)));
    if (inputs.back().is_floating_point()) inputs.back().requires_grad_();
  }
  const std::vector<Tensor> outputs = function(inputs);
  Tensor total;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    INFO("output " << i);
    check_close(outputs[i], record(name + "/output" + std::to_string(i)));
    if (!outputs[i].is_floating_point() || !outputs[i].requires_grad()) continue;
    const Tensor factors =
        linspace(0.5, 1.5, outputs[i].numel(), TensorOptions(kDouble).device(outputs[i].device()))
            .reshape(outputs[i].sizes());
    const Tensor part = (outputs[i] * factors).sum();
    total = total.defined() ? total + part : part;
  }
  REQUIRE(total.defined());
  total.backward();
  const auto check_gradient = [&](const std::string& key, const Tensor& tensor) {
    INFO("gradient of " << key);
    if (!is_recorded(name + "/grad/" + key)) return;
    REQUIRE(tensor.grad().defined());
    check_close(tensor.grad(), record(name + "/grad/" + key), tolerance);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) check_gradient("input" + std::to_string(i), inputs[i]);
  if (module) {
    for (const auto& item : module->named_parameters()) check_gradient(item.key(), item.value());
  }
}

template <class Holder>
void check_layer(const std::string& name, Holder layer, double tolerance = 1e-9) {
  check_case(
      name, [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{layer(x[0])}; }, layer.ptr().get(),
      tolerance);
}

std::vector<Tensor> listed(const std::tuple<Tensor, Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}

}  // namespace

TEST_CASE("activations agree with PyTorch") {
  const std::string a = "activation/";
  check_layer(a + "elu", nn::ELU(nn::ELUOptions().alpha(1.3)));
  check_layer(a + "selu", nn::SELU());
  // PyTorch rounds these two's factors to float32.
  check_layer(a + "celu", nn::CELU(nn::CELUOptions().alpha(1.3)), 1e-6);
  check_layer(a + "relu6", nn::ReLU6());
  check_layer(a + "leaky_relu", nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)));
  check_layer(a + "hardshrink", nn::Hardshrink(0.7));
  check_layer(a + "softshrink", nn::Softshrink(0.7));
  check_layer(a + "hardtanh", nn::Hardtanh(nn::HardtanhOptions().min_val(-1.5).max_val(0.5)));
  check_layer(a + "hardsigmoid", nn::Hardsigmoid(), 1e-6);
  check_layer(a + "hardswish", nn::Hardswish());
  check_layer(a + "logsigmoid", nn::LogSigmoid());
  check_layer(a + "softplus", nn::Softplus(nn::SoftplusOptions().beta(1.5).threshold(2)));
  check_layer(a + "softsign", nn::Softsign());
  check_layer(a + "tanhshrink", nn::Tanhshrink());
  check_layer(a + "threshold", nn::Threshold(0.3, -1.0));
  check_layer(a + "glu", nn::GLU(1));
  check_layer(a + "gelu", nn::GELU());
  check_layer(a + "silu", nn::SiLU());
  check_layer(a + "mish", nn::Mish());
  check_layer(a + "sigmoid", nn::Sigmoid());
  check_layer(a + "tanh", nn::Tanh());
  check_layer(a + "softmin", nn::Softmin(1));
  nn::RReLU rrelu;
  rrelu->eval();
  check_layer(a + "rrelu", rrelu);
  check_layer(a + "prelu", nn::PReLU(nn::PReLUOptions(4)));
}

TEST_CASE("recurrent layers agree with PyTorch") {
  const auto lstm = [](const std::string& name, nn::LSTM module) {
    check_case(
        name,
        [&](const std::vector<Tensor>& x) {
          const auto [out, state] = module(x[0], std::make_tuple(x[1], x[2]));
          return std::vector<Tensor>{out, std::get<0>(state), std::get<1>(state)};
        },
        module.ptr().get());
  };
  lstm("rnn/lstm", nn::LSTM(nn::LSTMOptions(3, 2).num_layers(2).bidirectional(true)));
  lstm("rnn/lstm_one", nn::LSTM(3, 4));
  nn::GRU gru(nn::GRUOptions(3, 2).num_layers(2).bidirectional(true));
  const auto two = [](auto& module) {
    return [&](const std::vector<Tensor>& x) { return listed(module(x[0], x[1])); };
  };
  check_case("rnn/gru", two(gru), gru.ptr().get());
  nn::RNN rnn(nn::RNNOptions(3, 2).num_layers(2));
  check_case("rnn/rnn", two(rnn), rnn.ptr().get());
  nn::RNN relu(nn::RNNOptions(3, 2).nonlinearity(kReLU).bias(false).bidirectional(true));
  check_case("rnn/rnn_relu", two(relu), relu.ptr().get());
}

TEST_CASE("packed sequences agree with PyTorch") {
  namespace rnn = nn::utils::rnn;
  const Tensor lengths = tensor({4, 1, 3}, TensorOptions(kLong).device(kCPU));
  nn::LSTM lstm(nn::LSTMOptions(2, 2).bidirectional(true));
  check_case(
      "packed/lstm",
      [&](const std::vector<Tensor>& x) {
        const auto [out, state] =
            lstm->forward_with_packed_input(rnn::pack_padded_sequence(x[0], lengths, false, false));
        return std::vector<Tensor>{std::get<0>(rnn::pad_packed_sequence(out)), std::get<0>(state),
                                   std::get<1>(state)};
      },
      lstm.ptr().get());
  nn::GRU gru(2, 3);
  check_case(
      "packed/gru",
      [&](const std::vector<Tensor>& x) {
        const auto [out, state] =
            gru->forward_with_packed_input(rnn::pack_padded_sequence(x[0], lengths, false, false));
        return std::vector<Tensor>{std::get<0>(rnn::pad_packed_sequence(out)), state};
      },
      gru.ptr().get());
}

TEST_CASE("recurrent cells agree with PyTorch") {
  nn::RNNCell rnn(3, 2);
  check_case(
      "cell/rnn_cell", [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{rnn(x[0], x[1])}; },
      rnn.ptr().get());
  nn::GRUCell gru(3, 2);
  check_case(
      "cell/gru_cell", [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{gru(x[0], x[1])}; },
      gru.ptr().get());
  nn::LSTMCell lstm(3, 2);
  check_case(
      "cell/lstm_cell",
      [&](const std::vector<Tensor>& x) { return listed(lstm(x[0], std::make_tuple(x[1], x[2]))); },
      lstm.ptr().get());
}

TEST_CASE("losses agree with PyTorch") {
  const Tensor b = record("loss/b"), signs = record("loss/signs");
  const Tensor wide_signs = signs.unsqueeze(1).expand({4, 3});
  const Tensor classes = tensor({0, 2, 1, 1}, TensorOptions(kLong).device(b.device()));
  const Tensor weight = tensor({0.5, 1.0, 2.0}, b.options());
  const auto check = [](const std::string& name,
                        const std::function<Tensor(const std::vector<Tensor>&)>& loss) {
    check_case("loss/" + name, [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{loss(x)}; });
  };
  using Operands = const std::vector<Tensor>&;
  check("hinge_embedding", [&](Operands x) {
    return nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(0.8))(x[0], wide_signs);
  });
  check("cosine_embedding", [&](Operands x) {
    return nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.2))(x[0], x[1], signs);
  });
  check("margin_ranking", [&](Operands x) {
    return nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.3))(x[0], x[1], wide_signs);
  });
  check("multi_margin", [&](Operands x) {
    return nn::MultiMarginLoss(nn::MultiMarginLossOptions().margin(0.7))(x[0], classes);
  });
  check("multi_margin_2", [&](Operands x) {
    return nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).weight(weight).reduction(kNone))(x[0],
                                                                                                  classes);
  });
  check("multilabel_margin", [&](Operands x) {
    const Tensor labels =
        tensor({{0, 2, -1}, {1, -1, 0}, {-1, 0, 0}, {2, 1, 0}}, TensorOptions(kLong).device(b.device()));
    return nn::MultiLabelMarginLoss()(x[0], labels);
  });
  check("multilabel_soft_margin", [&](Operands x) {
    return nn::MultiLabelSoftMarginLoss(nn::MultiLabelSoftMarginLossOptions().weight(weight))(
        x[0], b.gt(0).to(kDouble));
  });
  check("soft_margin", [&](Operands x) { return nn::SoftMarginLoss()(x[0], wide_signs); });
  check("triplet_margin", [&](Operands x) {
    return nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(1.5).swap(true))(x[0], x[1], x[2]);
  });
  check("poisson_nll", [&](Operands x) {
    return nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().full(true))(x[0], b.abs() * 3);
  });
  check("poisson_nll_rate", [&](Operands x) {
    return nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().log_input(false))(x[0], b.abs());
  });
  check("smooth_l1",
        [&](Operands x) { return nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.7))(x[0], b); });
  check("huber", [&](Operands x) { return nn::HuberLoss(nn::HuberLossOptions().delta(0.7))(x[0], b); });
  check("kl_div",
        [&](Operands x) { return nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean))(x[0], b.softmax(1)); });
  check("bce_logits", [&](Operands x) {
    return nn::BCEWithLogitsLoss(nn::BCEWithLogitsLossOptions().pos_weight(weight))(x[0], b.sigmoid());
  });
  check("cross_entropy", [&](Operands x) {
    return nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(weight).label_smoothing(0.1))(x[0],
                                                                                                   classes);
  });
}

TEST_CASE("connectionist temporal classification agrees with PyTorch") {
  const TensorOptions integers = TensorOptions(kLong).device(get_default_device());
  const Tensor labels = tensor({{1, 2, 2}, {3, 1, 1}, {2, 0, 0}}, integers);
  const Tensor input_lengths = tensor({7, 5, 6}, integers), target_lengths = tensor({3, 2, 1}, integers);
  const auto check = [&](const char* name, nn::LossReduction reduction) {
    check_case(std::string("ctc/") + name, [&](const std::vector<Tensor>& x) {
      nn::CTCLoss loss(nn::CTCLossOptions().reduction(reduction));
      return std::vector<Tensor>{loss(x[0].log_softmax(2), labels, input_lengths, target_lengths)};
    });
  };
  check("mean", kMean);
  check("sum", kSum);
  check("none", kNone);
}

TEST_CASE("convolutions agree with PyTorch") {
  check_layer(
      "conv_transpose1d",
      nn::ConvTranspose1d(
          nn::ConvTranspose1dOptions(4, 6, 3).stride(2).padding(1).output_padding(1).groups(2).dilation(2)));
  check_layer(
      "conv_transpose2d",
      nn::ConvTranspose2d(
          nn::ConvTranspose2dOptions(2, 3, {2, 3}).stride({2, 1}).padding({0, 1}).output_padding({1, 0})));
  const auto options = nn::Conv2dOptions(2, 2, 3).padding({1, 2});
  check_layer("conv2d/reflect", nn::Conv2d(nn::Conv2dOptions(options).padding_mode(kReflect)));
  check_layer("conv2d/replicate", nn::Conv2d(nn::Conv2dOptions(options).padding_mode(kReplicate)));
  check_layer("conv2d/circular", nn::Conv2d(nn::Conv2dOptions(options).padding_mode(kCircular)));
  check_layer("conv1d/circular", nn::Conv1d(nn::Conv1dOptions(2, 2, 3).padding(2).padding_mode(kCircular)));
  check_layer("conv1d/same", nn::Conv1d(nn::Conv1dOptions(2, 3, 4).padding(kSame)));
  check_layer("conv1d/same_reflect",
              nn::Conv1d(nn::Conv1dOptions(2, 3, 4).padding(kSame).padding_mode(kReflect)));
}

TEST_CASE("normalisations agree with PyTorch") {
  check_layer("instance_norm1d", nn::InstanceNorm1d(nn::InstanceNorm1dOptions(3).affine(true)));
  check_layer("instance_norm2d", nn::InstanceNorm2d(2));
  check_layer("local_response_norm",
              nn::LocalResponseNorm(nn::LocalResponseNormOptions(3).alpha(0.3).beta(0.7).k(1.5)));
  nn::InstanceNorm1d tracking(nn::InstanceNorm1dOptions(3).track_running_stats(true));
  check_layer("instance_norm_tracking", tracking);
  check_close(tracking->running_mean, record("instance_norm_tracking/running_mean"));
  check_close(tracking->running_var, record("instance_norm_tracking/running_var"));
}

TEST_CASE("pools agree with PyTorch") {
  check_case("pool/adaptive_max", [](const std::vector<Tensor>& x) {
    return listed(nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({3, 2}))->forward_with_indices(x[0]));
  });
  check_layer("pool/adaptive_avg", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({3, nullopt})));
  check_layer("pool/lp", nn::LPPool2d(nn::LPPool2dOptions(3, 2).stride(1)));
  check_case("pool/max", [](const std::vector<Tensor>& x) {
    return listed(nn::MaxPool2d(nn::MaxPool2dOptions(2).ceil_mode(true))->forward_with_indices(x[0]));
  });
  const Tensor places = record("pool/unpool/places");
  check_case("pool/unpool", [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{nn::MaxUnpool2d(2)(x[0], places, std::vector<std::int64_t>{7, 5})};
  });
}

TEST_CASE("shapes and distances agree with PyTorch") {
  check_layer("pixel_shuffle", nn::PixelShuffle(2));
  check_layer("pixel_unshuffle", nn::PixelUnshuffle(2));
  nn::Bilinear bilinear(3, 2, 4);
  check_case(
      "bilinear", [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{bilinear(x[0], x[1])}; },
      bilinear.ptr().get());
  check_case("cosine_similarity", [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{nn::CosineSimilarity()(x[0], x[1])};
  });
  check_case("pairwise_distance", [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{
        nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(3).keepdim(true))(x[0], x[1])};
  });
}

TEST_CASE("embedding bags agree with PyTorch") {
  const TensorOptions integers = TensorOptions(kLong).device(get_default_device());
  const Tensor words = tensor({1, 2, 4, 5, 4, 3, 2, 0}, integers);
  const auto check = [&](const std::string& name, nn::EmbeddingBagMode mode) {
    nn::EmbeddingBag bag(nn::EmbeddingBagOptions(6, 3).mode(mode).padding_idx(2));
    check_case(
        "bag/" + name, [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{bag(words, x[0])}; },
        bag.ptr().get());
  };
  check("sum", kSum);
  check("mean", kMean);
  check("max", kMax);
  nn::EmbeddingBag weighted(nn::EmbeddingBagOptions(6, 3).mode(kSum));
  const Tensor offsets = tensor({0, 4}, integers);
  check_case(
      "bag/weighted",
      [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{weighted(words, offsets, x[0])}; },
      weighted.ptr().get());
}

TEST_CASE("attention and transformers agree with PyTorch") {
  const TensorOptions numbers = TensorOptions(kDouble).device(get_default_device());
  const Tensor hidden = tensor({{0, 0, 1}, {0, 0, 0}}, numbers).to(kBool);
  const Tensor mask = triu(ones({3, 3}, numbers), 1).to(kBool);
  nn::MultiheadAttention plain(nn::MultiheadAttentionOptions(4, 2).add_bias_kv(true).add_zero_attn(true));
  check_case(
      "attention/plain",
      [&](const std::vector<Tensor>& x) { return listed(plain(x[0], x[1], x[2], hidden)); },
      plain.ptr().get());
  nn::MultiheadAttention other(nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(5));
  check_case(
      "attention/dims",
      [&](const std::vector<Tensor>& x) {
        return listed(other(x[0], x[1], x[2], Tensor(), true, Tensor(), /*average_attn_weights=*/false));
      },
      other.ptr().get());
  nn::MultiheadAttention masked(4, 2);
  check_case(
      "attention/masked",
      [&](const std::vector<Tensor>& x) {
        const auto [out, weights] = masked(x[0], x[0], x[0], Tensor(), /*need_weights=*/false, mask);
        CHECK_FALSE(weights.defined());
        return std::vector<Tensor>{out};
      },
      masked.ptr().get());
  const auto layer = nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0).activation(kGELU);
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(layer, 2).norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({4})))));
  check_case(
      "transformer/encoder",
      [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{encoder(x[0], mask)}; },
      encoder.ptr().get());
  nn::Transformer transformer(nn::TransformerOptions(4, 2, 1, 2).dim_feedforward(6).dropout(0));
  check_case(
      "transformer/all",
      [&](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{transformer(x[0], x[1], Tensor(), mask)};
      },
      transformer.ptr().get());
}

TEST_CASE("weight normalisation agrees with PyTorch") {
  const auto check = [](const std::string& name, auto layer, optional<std::int64_t> dim) {
    const std::string at = "weight_norm/" + name;
    INFO(at);
    layer->to(kDouble);
    {
      NoGradGuard no_grad;
      layer->weight.copy_(record(at + "/plain"));
    }
    nn::utils::weight_norm(layer, "weight", dim);
    check_close(layer->named_parameters()["weight_g"], record(at + "/length"));
    check_layer(at, layer);
  };
  check("linear", nn::Linear(4, 3), 0);
  check("linear_1", nn::Linear(4, 3), 1);
  check("linear_all", nn::Linear(4, 3), nullopt);
  check("conv1d", nn::Conv1d(nn::Conv1dOptions(2, 3, 3).padding(1)), 0);
  check("conv2d", nn::Conv2d(nn::Conv2dOptions(2, 3, {2, 3})), 0);
  check("conv2d_circular", nn::Conv2d(nn::Conv2dOptions(2, 2, 3).padding(1).padding_mode(kCircular)), 0);
  check("conv_transpose1d", nn::ConvTranspose1d(nn::ConvTranspose1dOptions(3, 2, 3).stride(2)), 1);
  check("conv_transpose2d", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 2, 3)), 1);
  check("embedding", nn::Embedding(5, 3), 0);
}
