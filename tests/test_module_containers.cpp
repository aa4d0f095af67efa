// Modules with erased types, containers, and recurrent layers: what a libtorch program does with them.

#include <sstream>

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/compat/torch.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

using Catch::Matchers::Contains;
using halftone::test::error_of;
using halftone::test::List;
using halftone::test::values;

namespace {

struct Twice : torch::nn::Module {
  int forward(int x) { return 2 * x; }
};

struct Add : torch::nn::Module {
  torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return a + b; }
};

struct Scale : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, double factor) { return x * factor; }
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(3.0)})
};

std::string text(const torch::nn::Module& module) {
  std::ostringstream stream;
  stream << module;
  return stream.str();
}

}  // namespace

TEST_CASE("AnyModule calls a forward of any signature, with exactly its types") {
  torch::nn::AnyModule twice{Twice()};
  CHECK(twice.forward<int>(21) == 42);
  CHECK_THAT(error_of([&] { twice.forward<int>(1.5f); }), Contains("argument 0") && Contains("int"));
  CHECK_THAT(error_of([&] { twice.forward<double>(1); }), Contains("asked for was double"));
  CHECK_THAT(error_of([&] { twice.forward<int>(1, 2); }), Contains("takes 1 arguments, got 2"));

  const torch::Tensor x = torch::ones({2});
  torch::nn::AnyModule add{Add()};
  CHECK(values(add.forward(x, x * 2)) == List{3, 3});
  torch::nn::AnyModule scale{Scale()};
  CHECK(values(scale.forward(x)) == List{3, 3});
  CHECK(values(scale.forward(x, 2.0)) == List{2, 2});

  torch::nn::AnyModule linear = torch::nn::Linear(2, 3);
  CHECK(linear.forward(torch::ones({1, 2})).size(1) == 3);
  CHECK(linear.get<torch::nn::Linear>()->options.out_features() == 3);
  CHECK(linear.ptr<torch::nn::LinearImpl>()->weight.size(0) == 3);
  CHECK(linear.type_info() == typeid(torch::nn::LinearImpl));
  CHECK_THAT(error_of([&] { linear.get<torch::nn::Conv2dImpl>(); }), Contains("LinearImpl"));
  CHECK_THAT(error_of([] { torch::nn::AnyModule().forward(torch::ones({1})); }), Contains("empty"));
}

TEST_CASE("Sequential passes values of any type, and takes several inputs") {
  torch::nn::Sequential numbers{Twice{}, Twice{}};
  CHECK(numbers->forward<int>(3) == 12);
  torch::nn::Sequential sum{Add{}, torch::nn::ReLU{}};
  CHECK(values(sum->forward(torch::ones({1}), -3 * torch::ones({1}))) == List{0});
  CHECK(sum->ptr<torch::nn::ReLUImpl>(1) != nullptr);
  CHECK_THAT(error_of([&] { numbers->forward(torch::ones({1})); }), Contains("argument 0"));
  torch::nn::Sequential named({{"fc", torch::nn::Linear(2, 2)}, {"drop", torch::nn::Dropout(0.5)}});
  named->push_back("end", torch::nn::Tanh());
  CHECK(named->named_children().keys() == std::vector<std::string>{"fc", "drop", "end"});
  for (auto& step : *named) CHECK_FALSE(step.is_empty());
}

TEST_CASE("module and parameter containers") {
  torch::nn::ModuleDict dict;
  dict->update({{"a", torch::nn::Linear(1, 2).ptr()}, {"b", torch::nn::ReLU().ptr()}});
  CHECK(dict->keys() == std::vector<std::string>{"a", "b"});
  CHECK(dict->at<torch::nn::LinearImpl>("a").options.out_features() == 2);
  dict->insert("a", torch::nn::Linear(1, 3));
  CHECK(dict->parameters()[0].size(0) == 3);
  CHECK(dict->pop("a")->parameters().size() == 2);
  CHECK(dict->size() == 1);
  CHECK(dict->parameters().empty());
  CHECK_THAT(error_of([&] { dict->pop("missing"); }), Contains("missing"));

  torch::nn::ModuleList list(torch::nn::ReLU(), torch::nn::Linear(1, 2));
  list->insert(1, torch::nn::Tanh());
  CHECK(list->size() == 3);
  CHECK(list->named_children()["2"]->as<torch::nn::Linear>() != nullptr);
  CHECK(list->ptr<torch::nn::TanhImpl>(1) != nullptr);

  torch::nn::ParameterList parameters(torch::ones({2}).requires_grad_(), torch::zeros({3}));
  parameters->append(torch::ones({1}).requires_grad_());
  CHECK(parameters->size() == 3);
  CHECK(parameters->parameters().size() == 3);
  CHECK(parameters[0].requires_grad());
  CHECK_FALSE(parameters[1].requires_grad());
  CHECK_THAT(error_of([&] { parameters->at(3); }), Contains("out of range"));
  const auto copy = std::dynamic_pointer_cast<torch::nn::ParameterListImpl>(parameters->clone());
  {
    torch::NoGradGuard no_grad;
    copy->at(0).fill_(7);
  }
  CHECK(values(parameters[0]) == List{1, 1});

  torch::nn::ParameterDict table;
  table->insert("w", torch::ones({2}).requires_grad_());
  table->insert("b", torch::zeros({1}));
  CHECK(table->keys() == std::vector<std::string>{"w", "b"});
  CHECK(table->named_parameters()["w"].requires_grad());
  CHECK(values(table->pop("b")) == List{0});
  CHECK_FALSE(table->contains("b"));
  CHECK_THAT(text(*table), Contains("(w): Parameter containing: [Float of size [2]]"));
}

TEST_CASE("recurrent layers: names, printing, layouts, wrong inputs") {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(true));
  CHECK(lstm->named_parameters().keys()[0] == "weight_ih_l0");
  CHECK(lstm->named_parameters().keys()[7] == "bias_hh_l0_reverse");
  CHECK(lstm->named_parameters()["weight_ih_l1"].sizes() == torch::IntArrayRef{16, 8});
  CHECK(text(*lstm) ==
        "torch::nn::LSTM(input_size=3, hidden_size=4, num_layers=2, bias=true, batch_first=true, dropout=0, "
        "bidirectional=true)");
  const auto [out, state] = lstm(torch::randn({5, 6, 3}));
  CHECK(out.sizes() == torch::IntArrayRef{5, 6, 8});
  CHECK(std::get<1>(state).sizes() == torch::IntArrayRef{4, 5, 4});
  for (const torch::Tensor& p : lstm->parameters()) CHECK(p.abs().max().item<double>() <= 0.5);
  const auto copy = std::dynamic_pointer_cast<torch::nn::LSTMImpl>(lstm->clone());
  const torch::Tensor x = torch::randn({2, 3, 3});
  CHECK(torch::equal(std::get<0>(lstm(x)), std::get<0>(copy->forward(x))));

  CHECK_THAT(error_of([&] { lstm(torch::randn({5, 6, 2})); }), Contains("3 features"));
  CHECK_THAT(error_of([&] { lstm(torch::randn({5})); }), Contains("LSTM"));
  CHECK_THAT(error_of([&] { lstm(torch::randn({5, 0, 3})); }), Contains("at least one step"));
  CHECK_THAT(error_of([&] {
               lstm(x, std::make_tuple(torch::zeros({4, 9, 4}), torch::zeros({4, 2, 4})));
             }),
             Contains("hidden state [4, 2, 4]"));
  CHECK_THAT(error_of([] { torch::nn::LSTM(torch::nn::LSTMOptions(2, 2).proj_size(1)); }),
             Contains("proj_size"));
  CHECK(std::get<0>(lstm(torch::randn({0, 3, 3}))).sizes() == torch::IntArrayRef{0, 3, 8});

  torch::nn::GRU gru(3, 2);
  CHECK(std::get<0>(gru(torch::randn({40, 3, 3}))).sizes() == torch::IntArrayRef{40, 3, 2});  // many steps
  CHECK(std::get<1>(gru(torch::randn({4, 3}))).sizes() == torch::IntArrayRef{1, 2});          // no batch
  CHECK(text(*torch::nn::GRUCell(3, 2)) == "torch::nn::GRUCell(3, 2)");
}

TEST_CASE("recurrent layers under autocast stay near fp32, cell states in fp32 inside") {
  torch::manual_seed(5);
  torch::nn::LSTM lstm(8, 8);
  torch::nn::GRU gru(8, 8);
  const torch::Tensor x = torch::randn({20, 4, 8});
  const torch::Tensor expected = std::get<0>(lstm(x)), expected_gru = std::get<0>(gru(x));
  for (const auto dtype : {torch::kBFloat16, torch::kHalf}) {
    const double bound = dtype == torch::kHalf ? 0.01 : 0.05;
    torch::Tensor out, out_gru;
    {
      halftone::amp::Autocast autocast(halftone::test::device_type(), dtype);
      out = std::get<0>(lstm(x));
      out_gru = std::get<0>(gru(x));
    }
    CHECK(out.scalar_type() == dtype);
    CHECK((out.to(torch::kFloat) - expected).abs().max().item<double>() < bound);
    CHECK((out_gru.to(torch::kFloat) - expected_gru).abs().max().item<double>() < bound);
    out.to(torch::kFloat).sum().backward();
    for (const torch::Tensor& p : lstm->parameters()) {
      CHECK(p.grad().scalar_type() == torch::kFloat);
      CHECK(p.grad().isfinite().all().item<bool>());
    }
    lstm->zero_grad();
  }
}

TEST_CASE("embeddings: pretrained tables, bounded norms") {
  const torch::Tensor table = torch::tensor({{3.0f, 4.0f}, {0.3f, 0.4f}});
  torch::nn::Embedding frozen = torch::nn::Embedding::from_pretrained(table);
  CHECK_FALSE(frozen->weight.requires_grad());
  CHECK(values(frozen(torch::tensor({1}))) == values(table[1]));
  torch::nn::Embedding bounded(torch::nn::EmbeddingOptions(2, 2)._weight(table.clone()).max_norm(1.0));
  const List rows = values(bounded(torch::tensor({0, 1, 0})));
  CHECK(rows[0] == Approx(0.6));
  CHECK(rows[3] == Approx(0.4));
  CHECK_THAT(error_of([] { torch::nn::EmbeddingBag(2, 2)(torch::tensor({0, 1})); }), Contains("offsets"));
}
