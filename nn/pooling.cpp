#include "halftone/nn/pooling.h"

#include <ostream>

#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace {

template <std::size_t D>
std::string describe(const char* name, const MaxPoolOptions<D>& o) {
  return concat(name, D, "d(kernel_size=", window_text(o.kernel_size()), ", stride=", window_text(o.stride()),
                ", padding=", window_text(o.padding()), ", dilation=", window_text(o.dilation()),
                ", ceil_mode=", o.ceil_mode(), ")");
}

template <std::size_t D>
std::string describe(const char* name, const AvgPoolOptions<D>& o) {
  return concat(name, D, "d(kernel_size=", window_text(o.kernel_size()), ", stride=", window_text(o.stride()),
                ", padding=", window_text(o.padding()), ")");
}

template <std::size_t D>
std::string describe(const char* name, const MaxUnpoolOptions<D>& o) {
  return concat(name, D, "d(kernel_size=", window_text(o.kernel_size()), ", stride=", window_text(o.stride()),
                ", padding=", window_text(o.padding()), ")");
}

template <std::size_t D>
std::string describe(const char* name, const LPPoolOptions<D>& o) {
  return concat(name, D, "d(norm_type=", o.norm_type(), ", kernel_size=", window_text(o.kernel_size()),
                ", stride=", window_text(o.stride()), ", ceil_mode=", o.ceil_mode() ? "true" : "false", ")");
}

std::string sizes_text(IntArrayRef sizes) { return window_text(sizes); }
std::string sizes_text(const ExpandingArrayWithOptionalElem<2>& sizes) {
  const auto one = [](const optional<std::int64_t>& size) { return size ? std::to_string(*size) : "None"; };
  return "[" + one(sizes[0]) + ", " + one(sizes[1]) + "]";
}

template <class Options>
requires requires(Options o) { o.output_size(); }
std::string describe(const char* name, const Options& o) {
  return concat(name, o.output_size().size(), "d(output_size=", sizes_text(o.output_size()), ")");
}

template <std::size_t D>
const char* family(const MaxPoolOptions<D>&) {
  return "MaxPool";
}
template <std::size_t D>
const char* family(const AvgPoolOptions<D>&) {
  return "AvgPool";
}
template <class OutputSize>
const char* family(const AdaptiveAvgPoolOptions<OutputSize>&) {
  return "AdaptiveAvgPool";
}
template <class OutputSize>
const char* family(const AdaptiveMaxPoolOptions<OutputSize>&) {
  return "AdaptiveMaxPool";
}
template <std::size_t D>
const char* family(const MaxUnpoolOptions<D>&) {
  return "MaxUnpool";
}
template <std::size_t D>
const char* family(const LPPoolOptions<D>&) {
  return "LPPool";
}

}  // namespace

template <class Derived, class Options>
void PoolBase<Derived, Options>::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << describe(family(options), options);
}

template class PoolBase<MaxPool1dImpl, MaxPool1dOptions>;
template class PoolBase<MaxPool2dImpl, MaxPool2dOptions>;
template class PoolBase<AvgPool1dImpl, AvgPool1dOptions>;
template class PoolBase<AvgPool2dImpl, AvgPool2dOptions>;
template class PoolBase<AdaptiveAvgPool1dImpl, AdaptiveAvgPool1dOptions>;
template class PoolBase<AdaptiveAvgPool2dImpl, AdaptiveAvgPool2dOptions>;
template class PoolBase<AdaptiveMaxPool1dImpl, AdaptiveMaxPool1dOptions>;
template class PoolBase<AdaptiveMaxPool2dImpl, AdaptiveMaxPool2dOptions>;
template class PoolBase<MaxUnpool1dImpl, MaxUnpool1dOptions>;
template class PoolBase<MaxUnpool2dImpl, MaxUnpool2dOptions>;
template class PoolBase<LPPool1dImpl, LPPool1dOptions>;
template class PoolBase<LPPool2dImpl, LPPool2dOptions>;

Tensor MaxUnpool1dImpl::forward(const Tensor& input, const Tensor& indices,
                                const optional<std::vector<std::int64_t>>& output_size) {
  return functional::max_unpool1d(input, indices,
                                  functional::MaxUnpool1dFuncOptions(options.kernel_size())
                                      .stride(options.stride())
                                      .padding(options.padding())
                                      .output_size(output_size));
}

Tensor MaxUnpool2dImpl::forward(const Tensor& input, const Tensor& indices,
                                const optional<std::vector<std::int64_t>>& output_size) {
  return functional::max_unpool2d(input, indices,
                                  functional::MaxUnpool2dFuncOptions(options.kernel_size())
                                      .stride(options.stride())
                                      .padding(options.padding())
                                      .output_size(output_size));
}

FractionalMaxPool2dImpl::FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options)
    : options(std::move(options)) {
  reset();
}

void FractionalMaxPool2dImpl::reset() {
  if (options.output_size().has_value() == options.output_ratio().has_value()) {
    fail("FractionalMaxPool2d", "needs output_size or output_ratio, and just one of them");
  }
  _random_samples = register_buffer("_random_samples", options._random_samples());
}

void FractionalMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "FractionalMaxPool2d()";
}

Tensor FractionalMaxPool2dImpl::forward(const Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}

std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  FractionalMaxPool2dOptions now = options;
  return functional::fractional_max_pool2d_with_indices(input, now._random_samples(_random_samples));
}

}  // namespace halftone::nn
