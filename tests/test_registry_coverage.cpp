// The samples themselves: an operator cannot be registered with samples that leave an argument or a shape
// untried.

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;

namespace {

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "none";
        else if constexpr (std::is_same_v<T, Tensor>)
          return v.defined() ? "tensor" : "none";
        else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
          return "tensors";
        else if constexpr (std::is_same_v<T, Scalar>)
          return concat(v.to_double());
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return concat(IntArrayRef(v));
        else
          return concat(v);
      },
      value);
}

bool is_tensor_argument(const std::vector<Sample>& samples, std::size_t argument) {
  return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
    return std::holds_alternative<Tensor>(sample.args[argument]) ||
           std::holds_alternative<std::vector<Tensor>>(sample.args[argument]);
  });
}

}  // namespace

TEST_CASE("every operator is documented and sampled", "[registry]") {
  std::set<std::string> names;
  for (const OpInfo* op : registry()) {
    INFO(op->name);
    CHECK(names.insert(op->name).second);
    CHECK(std::string(op->doc).size() > 5);
    CHECK_FALSE(op->samples().empty());
  }
}

TEST_CASE("samples vary every argument that is not a tensor", "[registry]") {
  for (const OpInfo* op : registry()) {
    const std::vector<Sample> samples = op->samples();
    for (std::size_t a = 0; a < op->args.size(); ++a) {
      INFO(op->name << ": samples never vary '" << op->args[a] << "'");
      std::set<std::string> values;
      for (const Sample& sample : samples) {
        REQUIRE(sample.args.size() == op->args.size());
        values.insert(text_of(sample.args[a]));
      }
      if (!is_tensor_argument(samples, a)) CHECK(values.size() >= 2);
    }
  }
}

TEST_CASE("samples include a tensor without elements", "[registry]") {
  for (const OpInfo* op : registry()) {
    INFO(op->name);
    bool found = false;
    for (const Sample& sample : op->samples()) {
      map_tensors(sample.args, [&](const Tensor& tensor) {
        found = found || tensor.numel() == 0;
        return tensor;
      });
    }
    CHECK(found);
  }
}

TEST_CASE("a call with wrong arguments is refused by name", "[registry]") {
  for (const OpInfo* op : registry()) {
    INFO(op->name);
    CHECK_THROWS_AS(op->call({}), Error);
    std::vector<Value> wrong(op->args.size(), Value(std::string("nonsense")));
    CHECK_THROWS_AS(op->call(wrong), Error);
  }
}
