#include "halftone/nn/conv.h"

#include <cmath>
#include <ostream>

#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"
#include "halftone/nn/layer_text.h"

namespace halftone::nn {

const char* ConvPaddingMode::name() const {
  constexpr const char* names[] = {"kZeros", "kReflect", "kReplicate", "kCircular"};
  return names[static_cast<int>(kind_)];
}

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
  stream << kLayerPrefix << "Conv" << D << "d(" << options.in_channels() << ", " << options.out_channels()
         << ", kernel_size=" << window_text(options.kernel_size())
         << ", stride=" << window_text(options.stride());
  if (options.padding().is_same()) stream << ", padding='same'";
  const IntArrayRef padding = options.padding().amounts();
  if (std::any_of(padding.begin(), padding.end(), [](std::int64_t p) { return p != 0; }))
    stream << ", padding=" << window_text(padding);
  const IntArrayRef dilation = options.dilation();
  if (std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d != 1; }))
    stream << ", dilation=" << window_text(dilation);
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  if (!options.padding_mode().is_zeros()) stream << ", padding_mode=" << options.padding_mode().name();
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

namespace {

/// With a padding mode other than zeros, the input is padded first.
template <std::size_t D>
Tensor padded(const Tensor& input, const ConvOptions<D>& o) {
  std::vector<std::int64_t> pad;
  for (std::size_t d = D; d-- > 0;) {
    const std::int64_t reach = o.dilation()[d] * (o.kernel_size()[d] - 1), amount = o.padding().amounts()[d];
    if (o.padding().is_same()) {
      if (o.stride()[d] != 1) fail("Conv", "padding kSame needs stride 1, got ", o.stride()[d]);
      pad.insert(pad.end(), {reach / 2, reach - reach / 2});
    } else {
      pad.insert(pad.end(), {amount, amount});
    }
  }
  constexpr const char* modes[] = {"constant", "reflect", "replicate", "circular"};  // of pad()
  return halftone::pad(input, pad, modes[static_cast<int>(o.padding_mode().kind())]);
}

template <std::size_t D>
ConvOptions<D> without_padding(ConvOptions<D> options) {
  return options.padding(0);
}

}  // namespace

Tensor Conv1dImpl::forward(const Tensor& input) {
  const Tensor kernel = effective(weight, "weight");
  if (options.padding_mode().is_zeros()) {
    return functional::conv1d(input, kernel, function_options(options, bias));
  }
  return functional::conv1d(padded(input, options), kernel, function_options(without_padding(options), bias));
}

Tensor Conv2dImpl::forward(const Tensor& input) {
  const Tensor kernel = effective(weight, "weight");
  if (options.padding_mode().is_zeros()) {
    return functional::conv2d(input, kernel, function_options(options, bias));
  }
  return functional::conv2d(padded(input, options), kernel, function_options(without_padding(options), bias));
}

template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset() {
  const std::int64_t in = options.in_channels(), out = options.out_channels(), groups = options.groups();
  if (in <= 0 || out <= 0 || groups <= 0) {
    fail("ConvTranspose", "channels and groups must be positive, got ", in, " -> ", out, " in ", groups,
         " groups");
  }
  if (in % groups != 0 || out % groups != 0) {
    fail("ConvTranspose", "channels ", in, " -> ", out, " are not divisible into ", groups, " groups");
  }
  if (!options.padding_mode().is_zeros()) {
    fail("ConvTranspose", "only padding_mode kZeros is supported, got ", options.padding_mode().name());
  }
  Dims shape{in, out / groups};
  for (const std::int64_t k : options.kernel_size()) {
    if (k <= 0)
      fail("ConvTranspose", "kernel_size must be positive, got ", IntArrayRef(options.kernel_size()));
    shape.push_back(k);
  }
  weight = this->register_parameter("weight", empty(shape));
  bias = this->register_parameter("bias", options.bias() ? empty({out}) : Tensor());
  reset_parameters();
}

template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(init::fan_in_and_out(weight).in));
  init::uniform_(bias, -bound, bound);
}

template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  const auto any_not = [](IntArrayRef values, std::int64_t usual) {
    return std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v != usual; });
  };
  stream << kLayerPrefix << "ConvTranspose" << D << "d(" << options.in_channels() << ", "
         << options.out_channels() << ", kernel_size=" << window_text(options.kernel_size())
         << ", stride=" << window_text(options.stride());
  if (any_not(options.padding(), 0)) stream << ", padding=" << window_text(options.padding());
  if (any_not(options.dilation(), 1)) stream << ", dilation=" << window_text(options.dilation());
  if (any_not(options.output_padding(), 0))
    stream << ", output_padding=" << window_text(options.output_padding());
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  stream << ")";
}

template <std::size_t D, class Derived>
std::vector<std::int64_t> ConvTransposeNdImpl<D, Derived>::padding_for(
    const Tensor& input, const optional<IntArrayRef>& output_size) const {
  if (!output_size) return IntArrayRef(options.output_padding()).vec();
  const auto spatial = static_cast<std::int64_t>(D);
  const std::size_t given = output_size->size();
  if (input.dim() <= spatial || (given != D && given != static_cast<std::size_t>(input.dim()))) {
    fail("ConvTranspose", "expected an output_size of ", spatial, " numbers for ", input, ", got ",
         *output_size);
  }
  std::vector<std::int64_t> extra;
  for (std::size_t d = 0; d < D; ++d) {
    const std::int64_t wanted = (*output_size)[given - D + d];
    const std::int64_t least =
        (input.size(input.dim() - spatial + static_cast<std::int64_t>(d)) - 1) * options.stride()[d] -
        2 * options.padding()[d] + options.dilation()[d] * (options.kernel_size()[d] - 1) + 1;
    if (wanted < least || wanted >= least + options.stride()[d]) {
      fail("ConvTranspose", "output_size ", *output_size, ": dimension ", d, " can be ", least, " to ",
           least + options.stride()[d] - 1);
    }
    extra.push_back(wanted - least);
  }
  return extra;
}

Tensor ConvTranspose1dImpl::forward(const Tensor& input, const optional<IntArrayRef>& output_size) {
  return halftone::conv_transpose1d(input, effective(weight, "weight"), bias, options.stride(),
                                    options.padding(), padding_for(input, output_size), options.groups(),
                                    options.dilation());
}

Tensor ConvTranspose2dImpl::forward(const Tensor& input, const optional<IntArrayRef>& output_size) {
  return halftone::conv_transpose2d(input, effective(weight, "weight"), bias, options.stride(),
                                    options.padding(), padding_for(input, output_size), options.groups(),
                                    options.dilation());
}

template class ConvTransposeNdImpl<1, ConvTranspose1dImpl>;
template class ConvTransposeNdImpl<2, ConvTranspose2dImpl>;
template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;

}  // namespace halftone::nn
