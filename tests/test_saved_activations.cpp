// How much a model keeps for backward, in fp32 and under autocast: a GPT with the default policies and with
// its residual stream in half, and a CNN, whose poolings keep a byte per window.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"

using namespace halftone;

namespace {

constexpr std::int64_t kHeads = 4, kWidth = 64, kContext = 64, kCharacters = 50, kBatch = 4, kLayers = 2;

struct Block {
  nn::LayerNorm norm1{nn::LayerNormOptions({kWidth})}, norm2{nn::LayerNormOptions({kWidth})};
  nn::Linear in{kWidth, 3 * kWidth}, out{kWidth, kWidth}, wide{kWidth, 4 * kWidth},
      narrow{4 * kWidth, kWidth};

  Tensor forward(Tensor x) {
    const auto parts = in->forward(norm1->forward(x))
                           .view({kBatch, kContext, 3 * kHeads, kWidth / kHeads})
                           .transpose(1, 2)
                           .chunk(3, 1);
    const Tensor y = scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + out->forward(y.transpose(1, 2).reshape({kBatch, kContext, kWidth}));
    return x + narrow->forward(gelu(wide->forward(norm2->forward(x))));
  }
};

/// Loss of a GPT of kLayers layers on one batch of characters.
Tensor gpt_loss(Dtype dtype) {
  manual_seed(1);
  nn::Embedding token(kCharacters, kWidth), position(kContext, kWidth);
  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
  nn::Linear head(nn::LinearOptions(kWidth, kCharacters).bias(false));
  const Tensor text = randint(kCharacters, {kBatch, kContext}),
               next = randint(kCharacters, {kBatch, kContext});
  const amp::Autocast autocast(test::device_type(), dtype);
  Tensor x = token->forward(text) + position->forward(arange(kContext, TensorOptions(kLong)));
  for (std::int64_t i = 0; i < kLayers; ++i) x = Block().forward(x);
  return nn::functional::cross_entropy(head->forward(norm->forward(x)).flatten(0, 1), next.flatten());
}

double bytes(const Tensor& loss) { return static_cast<double>(autograd::saved_bytes(loss)); }

std::string listing(const Tensor& loss) {
  std::string text;
  for (const autograd::SavedInfo& saved : autograd::saved_tensors(loss)) {
    text += concat(saved.op, " ", dtype_name(saved.dtype), " ", saved.bytes, "\n");
  }
  return text;
}

Tensor cnn_loss(Dtype dtype) {
  manual_seed(1);
  nn::Sequential model(nn::Conv2d(nn::Conv2dOptions(1, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                       nn::Conv2d(nn::Conv2dOptions(32, 64, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                       nn::Flatten(), nn::Linear(64 * 7 * 7, 128), nn::ReLU(), nn::Linear(128, 10));
  const Tensor x = randn({16, 1, 28, 28}), labels = randint(10, {16});
  const amp::Autocast autocast(test::device_type(), dtype);
  return nn::functional::cross_entropy(model->forward(x), labels);
}

}  // namespace

TEST_CASE("a GPT keeps at most 0.60 of fp32's bytes under autocast") {
  const Tensor full = gpt_loss(kFloat), low = gpt_loss(kBFloat16);
  INFO(listing(low));
  CHECK(bytes(low) <= 0.60 * bytes(full));
}

TEST_CASE("with the residual stream in half a GPT keeps at most 0.52") {
  const double full = bytes(gpt_loss(kFloat));
  // The preset of docs/amp.md.
  const amp::PolicyOverride embedding("embedding", amp::Precision::kLow);
  const amp::PolicyOverride norm("layer_norm", amp::Precision::kFp32Inside);
  for (const Dtype dtype : {kBFloat16, kHalf}) {
    const Tensor low = gpt_loss(dtype);
    INFO(listing(low));
    CHECK(bytes(low) <= 0.52 * full);
    CHECK(std::isfinite(low.item<double>()));
  }
}

TEST_CASE("a CNN keeps at most 0.52 of fp32's bytes under autocast") {
  const Tensor full = cnn_loss(kFloat), low = cnn_loss(kBFloat16);
  INFO("fp32\n" << listing(full) << "bf16\n" << listing(low));
  CHECK(bytes(low) <= 0.52 * bytes(full));
}
