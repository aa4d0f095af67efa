#include "halftone/nn/conv.h"

#include <cmath>
#include <ostream>

#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"

namespace halftone::nn {

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  const std::int64_t in = options.in_channels(), out = options.out_channels(), groups = options.groups();
  if (in <= 0 || out <= 0 || groups <= 0)
    fail("Conv", "channels and groups must be positive, got ", in, " -> ", out, " in ", groups, " groups");
  if (in % groups != 0 || out % groups != 0)
    fail("Conv", "channels ", in, " -> ", out, " are not divisible into ", groups, " groups");
  Dims shape{out, in / groups};
  for (const std::int64_t k : options.kernel_size()) {
    if (k <= 0) fail("Conv", "kernel_size must be positive, got ", IntArrayRef(options.kernel_size()));
    shape.push_back(k);
  }
  weight = this->register_parameter("weight", empty(shape));
  bias = this->register_parameter("bias", options.bias() ? empty({out}) : Tensor());
  reset_parameters();
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(init::fan_in_and_out(weight).in));
  init::uniform_(bias, -bound, bound);
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << "Conv" << D << "d(" << options.in_channels() << ", " << options.out_channels()
         << ", kernel_size=" << concat(IntArrayRef(options.kernel_size()))
         << ", stride=" << concat(IntArrayRef(options.stride()));
  if (options.padding().is_same()) stream << ", padding=same";
  const IntArrayRef padding = options.padding().amounts();
  if (std::any_of(padding.begin(), padding.end(), [](std::int64_t p) { return p != 0; }))
    stream << ", padding=" << concat(padding);
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  stream << ")";
}

namespace {

template <std::size_t D>
functional::ConvFuncOptions<D> function_options(const ConvOptions<D>& options, const Tensor& bias) {
  return functional::ConvFuncOptions<D>()
      .bias(bias)
      .stride(options.stride())
      .padding(options.padding())
      .dilation(options.dilation())
      .groups(options.groups());
}

}  // namespace

Tensor Conv1dImpl::forward(const Tensor& input) {
  return functional::conv1d(input, weight, function_options(options, bias));
}

Tensor Conv2dImpl::forward(const Tensor& input) {
  return functional::conv2d(input, weight, function_options(options, bias));
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;

}  // namespace halftone::nn
