// Strides do not matter: every operator gives the same bits on permuted, sliced, offset and expanded inputs
// as on contiguous copies of them. What lies between the elements is NaN, so reading it would show.

#include <limits>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;

namespace {

Tensor poisoned(const std::vector<std::int64_t>& sizes, const Tensor& like) {
  return like.is_floating_point() ? full(sizes, std::numeric_limits<double>::quiet_NaN(), like.options())
                                  : full(sizes, 1, like.options());
}

// Dimensions laid out in reverse order.
Tensor permuted(const Tensor& tensor) {
  std::vector<std::int64_t> reversed;
  for (std::int64_t d = tensor.dim(); d-- > 0;) reversed.push_back(d);
  return tensor.permute(reversed).clone().permute(reversed);
}

// Every second element of a larger tensor, starting at the second.
Tensor sliced(const Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.clone();
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.back() = 2 * sizes.back() + 1;
  Tensor large = poisoned(sizes, tensor);
  Tensor view = large.slice(-1, 1, large.size(-1), 2);
  view.copy_(tensor);
  return view;
}

// Contiguous, but starting one element into its storage.
Tensor offset(const Tensor& tensor) {
  Tensor large = poisoned({tensor.numel() + 1}, tensor);
  Tensor view = large.narrow(0, 1, tensor.numel()).view(tensor.sizes());
  view.copy_(tensor);
  return view;
}

// The first slice along the last dimension, repeated by stride 0.
Tensor expanded(const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.size(-1) == 0) return tensor.clone();
  return tensor.narrow(-1, 0, 1).expand(tensor.sizes());
}

// On a CUDA device the order in which products and long reductions are summed follows the layout, which
// decides how memory is read best. The order is the same from run to run.
bool sums_by_layout(const OpInfo& op) {
  static const std::set<std::string> reductions = {"sum",       "mean", "prod", "sum_to_size",
                                                   "logsumexp", "norm", "var"};
  return device_type() == kCUDA && (op.precision == amp::Precision::kLow || reductions.contains(op.name));
}

// Two sums of the same few numbers, none above 4, each rounded once.
bool same_sum(const Tensor& a, const Tensor& b) {
  const double rounding = unit_roundoff(a.scalar_type());
  const double sums = unit_roundoff(a.scalar_type() == kDouble ? kDouble : kFloat) * 1024;
  const Tensor x = a.detach().to(kCPU, kDouble), y = b.detach().to(kCPU, kDouble);
  return a.scalar_type() == b.scalar_type() && allclose(x, y, 2 * rounding, sums, /*equal_nan=*/true);
}

using Layout = Tensor (*)(const Tensor&);

void check_layout(const OpInfo& op, std::size_t index, const Sample& sample, const char* name, Layout layout,
                  ScalarType dtype) {
  INFO(label(op, index) << " on " << name << " " << dtype_name(dtype) << " inputs");
  const auto strided = map_tensors(copy_args(sample.args, dtype), layout);
  const auto contiguous = map_tensors(strided, [](const Tensor& t) { return t.clone(); });
  std::vector<Tensor> expected;
  manual_seed(3);
  try {
    expected = op.call(contiguous);
  } catch (const Error&) {
    return;  // expanding may take the values out of the operator's domain
  }
  manual_seed(3);
  std::vector<Tensor> got;
  try {
    got = op.call(strided);
  } catch (const Error& error) {
    // A view that strides cannot express is refused by name (its copying sibling, reshape, is not), and so is
    // writing to expanded memory: batch norm's running statistics.
    CHECK((std::string(op.name) == "view" ||
           std::string(error.what()).find("its elements share memory") != std::string::npos));
    return;
  }
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK((sums_by_layout(op) ? same_sum(got[i], expected[i]) : same_bits(got[i], expected[i])));
  }
}

}  // namespace

TEST_CASE("every operator gives the same bits whatever the strides", "[registry]") {
  for (const OpInfo* op : registry()) {
    // Reads storage by strides: that is its meaning.
    if (std::string(op->name) == "as_strided") continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
        check_layout(*op, i, samples[i], "permuted", permuted, dtype);
        check_layout(*op, i, samples[i], "sliced", sliced, dtype);
        check_layout(*op, i, samples[i], "offset", offset, dtype);
        check_layout(*op, i, samples[i], "expanded", expanded, dtype);
      }
    }
  }
}
