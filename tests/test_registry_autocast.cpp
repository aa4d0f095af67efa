// Inside an autocast region every operator follows the policy of its declaration, for every mix of input
// dtypes.

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;

namespace {

using amp::Precision;

// Floating tensors in `first`, `second`, `first`, ... in order.
std::vector<Value> mixed_args(const std::vector<Value>& args, ScalarType first, ScalarType second,
                              bool grad = false) {
  bool use_second = false;
  return map_tensors(args, [&](const Tensor& tensor) {
    const Device device = get_default_device();
    if (!tensor.is_floating_point()) return tensor.to(device, tensor.scalar_type(), false, /*copy=*/true);
    Tensor copy = tensor.to(device, use_second ? second : first, false, /*copy=*/true);
    copy.requires_grad_(grad);
    use_second = !use_second;
    return copy;
  });
}

// The widest input; for operators that promote in the kernel by PyTorch's rule, where a 0-d tensor does not
// widen tensors with dimensions.
ScalarType widest(const std::vector<Value>& args, bool zero_dim_counts) {
  std::optional<ScalarType> found;
  bool found_dims = false;
  for (const Tensor& tensor : floating_tensors(args)) {
    const bool has_dims = zero_dim_counts || tensor.dim() > 0;
    if (found_dims && !has_dims) continue;
    const bool first = !found || (has_dims && !found_dims);
    found = first ? tensor.scalar_type() : promote_types(*found, tensor.scalar_type());
    found_dims = found_dims || has_dims;
  }
  return *found;
}

bool names_a_dtype(const OpInfo& op, const Sample& sample) {
  for (std::size_t a = 0; a < op.args.size(); ++a) {
    if (std::holds_alternative<ScalarType>(sample.args[a])) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("result dtypes follow the policy for every mix of inputs", "[registry]") {
  for (const OpInfo* op : registry()) {
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (floating_tensors(samples[i].args).empty() || names_a_dtype(*op, samples[i])) continue;
      for (ScalarType low : {kBFloat16, kHalf}) {
        for (ScalarType a : {kFloat, kHalf, kBFloat16}) {
          for (ScalarType b : {kFloat, kHalf, kBFloat16}) {
            const std::size_t floats = floating_tensors(samples[i].args).size();
            if (floats == 1 && a != b) continue;
            INFO(label(*op, i) << " (" << amp::precision_name(op->precision) << ") on " << dtype_name(a)
                               << ", " << dtype_name(b) << " in a " << dtype_name(low) << " region");
            const auto args = mixed_args(samples[i].args, a, b);
            const bool any_half = is_low_precision(a) || (floats > 1 && is_low_precision(b));
            const amp::Autocast autocast(device_type(), low);
            std::vector<Tensor> results;
            try {
              results = op->call(args);
            } catch (const Error& error) {
              CHECK((op->precision == Precision::kBanned && any_half));
              continue;
            }
            CHECK_FALSE((op->precision == Precision::kBanned && any_half));
            const Tensor& result = results[0];
            if (!result.is_floating_point()) continue;
            switch (op->precision) {
              case Precision::kLow:
                CHECK(result.scalar_type() == low);
                break;
              case Precision::kFp32:
                CHECK(result.scalar_type() == kFloat);
                break;
              case Precision::kPromote:
                CHECK(result.scalar_type() == widest(args, !op->mixed_inputs));
                break;
              default:
                break;  // the first input's, or what the operator states; see the next test
            }
          }
        }
      }
    }
  }
}

TEST_CASE("'any' and 'fp32_inside' keep the input's dtype", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (op->precision != Precision::kAny && op->precision != Precision::kFp32Inside) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (floating_tensors(samples[i].args).empty() || names_a_dtype(*op, samples[i])) continue;
      for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
        INFO(label(*op, i) << " on " << dtype_name(dtype));
        const amp::Autocast autocast(device_type(), kBFloat16);
        const std::vector<Tensor> results = op->call(copy_args(samples[i].args, dtype));
        if (results[0].is_floating_point()) CHECK(results[0].scalar_type() == dtype);
      }
    }
  }
}

TEST_CASE("a 'low' operator equals casting its inputs by hand, bit for bit", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (op->precision != Precision::kLow) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (ScalarType low : {kBFloat16, kHalf}) {
        INFO(label(*op, i));
        const auto args = copy_args(samples[i].args, kFloat);
        manual_seed(3);
        const auto by_hand = op->call(copy_args(args, low));
        manual_seed(3);
        const amp::Autocast autocast(device_type(), low);
        const auto got = op->call(args);
        REQUIRE(got.size() == by_hand.size());
        for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], by_hand[k]));
      }
    }
  }
}

TEST_CASE("gradients of leaves come back in the leaf's dtype", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (!op->differentiable) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      INFO(label(*op, i));
      const auto args = copy_args(samples[i].args, kFloat, true);
      Tensor loss;
      {
        const amp::Autocast autocast(device_type(), kBFloat16);
        for (const Tensor& result : op->call(args)) {
          if (!result.is_floating_point() || !result.requires_grad()) continue;
          const Tensor part = result.sum();
          loss = loss.defined() ? loss + part : part;
        }
      }
      if (!loss.defined()) continue;
      loss.backward();
      for (const Tensor& tensor : floating_tensors(args)) {
        if (tensor.grad().defined()) CHECK(tensor.grad().scalar_type() == kFloat);
      }
    }
  }
  CHECK(amp::cast_cache_stats().entries == 0);
}

TEST_CASE("an fp32 operator keeps no fp32 copy of a half input", "[registry]") {
  for (const OpInfo* op : registry()) {
    if (op->precision != Precision::kFp32 && op->precision != Precision::kFp32Inside) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      INFO(label(*op, i));
      const auto args = copy_args(samples[i].args, kBFloat16, true);
      Tensor output;
      {
        const amp::Autocast autocast(device_type(), kBFloat16);
        for (const Tensor& result : op->call(args)) {
          if (result.is_floating_point() && result.requires_grad()) output = result;
        }
      }
      if (!output.defined()) continue;
      for (const autograd::SavedInfo& saved : autograd::saved_tensors(output)) {
        if (saved.dtype != kFloat) continue;
        const bool is_result = saved.sizes == output.sizes().dims();
        for (const Tensor& input : floating_tensors(args)) {
          INFO("kept by " << saved.op);
          if (input.numel() > 1 && !is_result) CHECK_FALSE(saved.sizes == input.sizes().dims());
        }
      }
    }
  }
}
