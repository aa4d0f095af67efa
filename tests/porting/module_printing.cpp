// What modules print, and how their parts are named.

#include "halftone/tests/porting/check.h"

#include <sstream>
#include <string>

namespace {

struct BlockImpl : torch::nn::Module {
  BlockImpl() : conv(torch::nn::Conv2dOptions(1, 4, 3).padding(1).bias(false)), bn(4) {
    register_module("conv", conv);
    register_module("bn", bn);
    register_parameter("gain", torch::ones({1}));
    register_buffer("steps", torch::zeros({1}));
  }
  torch::Tensor forward(torch::Tensor x) { return bn(conv(x)); }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d bn;
};
TORCH_MODULE(Block);

template <class M>
std::string text(const M& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

void layers() {
  using namespace torch::nn;
  PORTING_CHECK(text(Linear(3, 4)) == "torch::nn::Linear(in_features=3, out_features=4, bias=true)");
  PORTING_CHECK(text(Bilinear(2, 3, 4)) ==
                "torch::nn::Bilinear(in1_features=2, in2_features=3, out_features=4, bias=true)");
  PORTING_CHECK(text(Identity()) == "torch::nn::Identity()");
  PORTING_CHECK(text(Flatten()) == "torch::nn::Flatten(start_dim=1, end_dim=-1)");
  PORTING_CHECK(text(Unflatten(UnflattenOptions(1, {2, 2}))) ==
                "torch::nn::Unflatten(dim=1, unflattened_size={2, 2})");
  PORTING_CHECK(text(Conv1d(Conv1dOptions(3, 4, 3).stride(2).padding(1).dilation(2))) ==
                "torch::nn::Conv1d(3, 4, kernel_size=3, stride=2, padding=1, dilation=2)");
  PORTING_CHECK(
      text(Conv2d(Conv2dOptions(4, 4, {3, 5}).groups(2).padding_mode(torch::kReflect).padding(1))) ==
      "torch::nn::Conv2d(4, 4, kernel_size=[3, 5], stride=[1, 1], padding=[1, 1], groups=2, "
      "padding_mode=kReflect)");
  PORTING_CHECK(text(Conv2d(Conv2dOptions(4, 4, 3).padding(torch::kSame))) ==
                "torch::nn::Conv2d(4, 4, kernel_size=[3, 3], stride=[1, 1], padding='same')");
  PORTING_CHECK(text(ConvTranspose2d(ConvTranspose2dOptions(4, 4, 3).stride(2).output_padding(1))) ==
                "torch::nn::ConvTranspose2d(4, 4, kernel_size=[3, 3], stride=[2, 2], output_padding=[1, 1])");
  PORTING_CHECK(text(MaxPool1d(3)) ==
                "torch::nn::MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=false)");
  PORTING_CHECK(text(MaxPool2d(MaxPool2dOptions(3).stride(2))) ==
                "torch::nn::MaxPool2d(kernel_size=[3, 3], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
                "ceil_mode=false)");
  PORTING_CHECK(text(AvgPool2d(3)) ==
                "torch::nn::AvgPool2d(kernel_size=[3, 3], stride=[3, 3], padding=[0, 0])");
  PORTING_CHECK(text(AdaptiveAvgPool1d(3)) == "torch::nn::AdaptiveAvgPool1d(output_size=3)");
  PORTING_CHECK(text(AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({2, 3}))) ==
                "torch::nn::AdaptiveAvgPool2d(output_size=[2, 3])");
  PORTING_CHECK(text(FractionalMaxPool2d(FractionalMaxPool2dOptions(2).output_size(3))) ==
                "torch::nn::FractionalMaxPool2d()");
  PORTING_CHECK(text(BatchNorm1d(3)) ==
                "torch::nn::BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  PORTING_CHECK(
      text(InstanceNorm2d(3)) ==
      "torch::nn::InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=false, track_running_stats=false)");
  PORTING_CHECK(text(LayerNorm(LayerNormOptions({3, 4}))) ==
                "torch::nn::LayerNorm([3, 4], eps=1e-05, elementwise_affine=true)");
  PORTING_CHECK(text(GroupNorm(GroupNormOptions(2, 4))) ==
                "torch::nn::GroupNorm(2, 4, eps=1e-05, affine=true)");
  PORTING_CHECK(text(LocalResponseNorm(2)) ==
                "torch::nn::LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1)");
  PORTING_CHECK(text(CrossMapLRN2d(3)) == "torch::nn::CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)");
  PORTING_CHECK(text(Dropout(0.25)) == "torch::nn::Dropout(p=0.25, inplace=false)");
  PORTING_CHECK(text(Dropout2d()) == "torch::nn::Dropout2d(p=0.5, inplace=false)");
  PORTING_CHECK(text(Embedding(EmbeddingOptions(10, 3).padding_idx(1).max_norm(2))) ==
                "torch::nn::Embedding(num_embeddings=10, embedding_dim=3, padding_idx=1, max_norm=2)");
  PORTING_CHECK(text(EmbeddingBag(4, 2)) == "torch::nn::EmbeddingBag(num_embeddings=4, embedding_dim=2)");
  PORTING_CHECK(text(EmbeddingBag(EmbeddingBagOptions(4, 2).mode(torch::kSum))) ==
                "torch::nn::EmbeddingBag(num_embeddings=4, embedding_dim=2, mode=kSum)");
  PORTING_CHECK(text(LSTM(LSTMOptions(3, 4).num_layers(2).bidirectional(true))) ==
                "torch::nn::LSTM(input_size=3, hidden_size=4, num_layers=2, bias=true, batch_first=false, "
                "dropout=0, bidirectional=true)");
  PORTING_CHECK(text(GRUCell(3, 4)) == "torch::nn::GRUCell(3, 4)");
  PORTING_CHECK(text(ReLU()) == "torch::nn::ReLU()");
  PORTING_CHECK(text(ReLU(ReLUOptions().inplace(true))) == "torch::nn::ReLU(inplace=true)");
  PORTING_CHECK(text(LeakyReLU(LeakyReLUOptions().negative_slope(0.2))) ==
                "torch::nn::LeakyReLU(negative_slope=0.2)");
  PORTING_CHECK(text(GELU()) == "torch::nn::GELU()");
  PORTING_CHECK(text(Softmax(1)) == "torch::nn::Softmax(dim=1)");
  PORTING_CHECK(text(MSELoss()) == "torch::nn::MSELoss()");
  PORTING_CHECK(text(TripletMarginLoss()) ==
                "torch::nn::TripletMarginLoss(margin=1, p=2, eps=1e-06, swap=false)");
  PORTING_CHECK(text(CosineSimilarity()) == "torch::nn::CosineSimilarity(dim=1, eps=1e-08)");
  PORTING_CHECK(
      text(Upsample(UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kNearest))) ==
      "torch::nn::Upsample(scale_factor=[2, 2], mode=kNearest)");
  PORTING_CHECK(text(Unfold(UnfoldOptions({2, 2}).padding(1))) ==
                "torch::nn::Unfold(kernel_size=[2, 2], dilation=[1, 1], padding=[1, 1], stride=[1, 1])");
  PORTING_CHECK(text(ConstantPad2d(2, 0.5)) == "torch::nn::ConstantPad2d(padding=[2, 2, 2, 2], value=0.5)");
  PORTING_CHECK(text(ParameterList(torch::ones({2, 3}))) ==
                "torch::nn::ParameterList(\n(0): Parameter containing: [Float of size [2, 3]]\n)");
  PORTING_CHECK(text(Functional(torch::relu)) == "torch::nn::Functional()");
  Functional leaky(torch::leaky_relu, 0.2);
  PORTING_CLOSE(leaky(torch::full({1}, -1.0)), torch::full({1}, -0.2));
}

void trees() {
  Block block;
  torch::nn::Sequential model(block, torch::nn::Flatten(), torch::nn::ReLU());
  // The name of a class of one's own is as the compiler writes it, with its namespace.
  std::string printed = text(model);
  const std::string place = "(anonymous namespace)::";
  if (const auto at = printed.find(place); at != std::string::npos) printed.erase(at, place.size());
  PORTING_CHECK(printed ==
                "torch::nn::Sequential(\n"
                "  (0): BlockImpl(\n"
                "    (conv): torch::nn::Conv2d(1, 4, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1], "
                "bias=false)\n"
                "    (bn): torch::nn::BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=true, "
                "track_running_stats=true)\n"
                "  )\n"
                "  (1): torch::nn::Flatten(start_dim=1, end_dim=-1)\n"
                "  (2): torch::nn::ReLU()\n"
                ")");

  std::string names;
  for (const auto& item : model->named_parameters()) names += item.key() + " ";
  PORTING_CHECK(names == "0.gain 0.conv.weight 0.bn.weight 0.bn.bias ");
  names.clear();
  for (const auto& item : model->named_buffers()) names += item.key() + " ";
  PORTING_CHECK(names == "0.steps 0.bn.running_mean 0.bn.running_var 0.bn.num_batches_tracked ");
  names.clear();
  for (const auto& item : model->named_modules()) names += item.key() + ":" + item.value()->name() + " ";
  PORTING_CHECK(names.find("0.conv:torch::nn::Conv2dImpl 0.bn:torch::nn::BatchNorm2dImpl "
                           "1:torch::nn::FlattenImpl 2:torch::nn::ReLUImpl ") != std::string::npos);
}

}  // namespace

int main() {
  layers();
  trees();
  return porting::result("module_printing");
}
