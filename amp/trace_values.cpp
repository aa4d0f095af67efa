// Where the first infinite or NaN value of a step comes from.

#include <algorithm>
#include <cmath>

#include "halftone/amp/trace_recorder.h"
#include "halftone/engine/generator.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/record.h"

namespace halftone::amp {
namespace {

struct Magnitudes {
  std::int64_t nonfinite = 0;
  double largest = 0;  ///< NaN or infinite when an element is
};

/// One pass: the kernel that looks at gradients before a step.
Magnitudes magnitudes(const Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  const Tensor record = empty_record(scan_bytes(1), tensor.device());
  const GradientEntry values{tensor.detach().contiguous(), {}, 0};
  kernels_for<OptimizerKernels>(tensor.device()).scan({&values, 1}, INFINITY, record, {});
  const auto entry = read_record<ScanEntry>(record, sizeof(ScanHeader));
  return {entry.nonfinite, entry.norm};
}

/// Elements that are not finite, by kind.
struct Kinds {
  std::int64_t nan = 0, infinite = 0;
  bool only_minus = false;  ///< nothing but -inf
};

Kinds kinds_of(const Tensor& tensor) {
  const auto count = [](const Tensor& mask) { return count_nonzero(mask).item<std::int64_t>(); };
  Kinds kinds;
  kinds.nan = count(isnan(tensor));
  kinds.infinite = count(isinf(tensor));
  kinds.only_minus =
      kinds.nan == 0 && kinds.infinite > 0 && count(logical_and(isinf(tensor), tensor.gt(0))) == 0;
  return kinds;
}

double largest_finite(const Tensor& tensor, const Magnitudes& seen) {
  if (seen.nonfinite == 0) return seen.largest;
  const Tensor zero = zeros({}, tensor.options());
  return magnitudes(where(isfinite(tensor), tensor, zero)).largest;
}

/// Values of -inf that a program puts there itself, for softmax to turn into zeros.
bool is_mask(const char* op, const Kinds& kinds) {
  const std::string_view name(op);
  const bool can_fill = name == "masked_fill" || name == "fill" || name == "where" || name == "copy";
  return can_fill && kinds.only_minus;
}

bool is_floating(const Tensor& tensor) { return tensor.defined() && tensor.is_floating_point(); }

/// What the program's random stream is at, put back when this goes.
class KeepRandomStream {
 public:
  explicit KeepRandomStream(Device device)
      : generator_(default_generator(device)), state_(generator_.state()) {}
  ~KeepRandomStream() { generator_.set_state(state_); }
  KeepRandomStream(const KeepRandomStream&) = delete;
  KeepRandomStream& operator=(const KeepRandomStream&) = delete;

 private:
  Generator& generator_;
  PhiloxState state_;
};

/// Empty when the operator refuses.
std::optional<bool> is_nonfinite_in_fp32(const ops::Call& call, Device device) {
  if (!call.in_fp32) return std::nullopt;
  const KeepRandomStream keep(device);
  try {
    for (const Tensor& result : call.in_fp32(call.arguments)) {
      if (is_floating(result) && magnitudes(result).nonfinite > 0) return true;
    }
    return false;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

/// Empty when the program meant it: a mask, or one that was passed on.
std::optional<TraceNonFinite> TraceRecorder::explain(const ops::Call& call, const Tensor& output,
                                                     const Frame& frame) const {
  const Kinds kinds = kinds_of(output);
  if (is_mask(call.name, kinds)) return std::nullopt;
  TraceNonFinite found;
  found.step = step_;
  found.op = frame.op;
  found.name = call.name;
  found.phase = frame.phase;
  found.node = node_name_;
  if (frame.op >= 0) found.module = log_.operators[static_cast<std::size_t>(frame.op)].module;
  if (found.module.empty()) found.after = node_name_.empty() ? last_module_ : node_place_.after;
  found.dtype = output.scalar_type();
  found.sizes = output.sizes().dims();
  found.nan = kinds.nan;
  found.infinite = kinds.infinite;
  found.scale = scale_;
  if (call.kind == ops::CallKind::kInPlace) {
    found.largest_input = std::numeric_limits<double>::quiet_NaN();
    return found;
  }
  for (const Tensor* input : call.inputs) {
    if (!is_floating(*input)) continue;
    const Magnitudes seen = magnitudes(*input);
    found.largest_input = std::max(found.largest_input, largest_finite(*input, seen));
    if (seen.nonfinite == 0) continue;
    const Kinds given = kinds_of(*input);
    if (given.only_minus) {
      if (kinds.only_minus) return std::nullopt;
      continue;
    }
    found.input = name_of(*input);
    found.origin = found.input.empty() ? TraceNonFinite::Origin::kInput : TraceNonFinite::Origin::kParameter;
    found.dtype = input->scalar_type();
    found.sizes = input->sizes().dims();
    found.nan = given.nan;
    found.infinite = given.infinite;
    return found;
  }
  found.fp32_too = is_nonfinite_in_fp32(call, output.device());
  return found;
}

void TraceRecorder::count_exponents(const std::string& name, const Tensor& tensor, bool is_gradient,
                                    double scale) {
  ExponentHistogram histogram = exponent_histogram(tensor, scale);
  histogram.name = name;
  histogram.is_gradient = is_gradient;
  histogram.step = step_;
  log_.histograms.push_back(std::move(histogram));
}

void TraceRecorder::check_results(const ops::Call& call, const ops::TensorRefs& outputs, const Frame& frame) {
  if (!log_.nonfinite.empty() && log_.nonfinite.back().step == step_) return;
  const NoGradGuard no_grad;
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  for (const Tensor* output : outputs) {
    if (!is_floating(*output)) continue;
    const Magnitudes seen = magnitudes(*output);
    if (seen.nonfinite == 0) continue;
    std::optional<TraceNonFinite> found = explain(call, *output, frame);
    if (!found) continue;
    log_.nonfinite.push_back(*std::move(found));
    return;
  }
}

}  // namespace halftone::amp
