#include "halftone/nn/activation.h"

#include <ostream>

#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace {

/// ", inplace=true" where it is set.
const char* inplace(bool on) { return on ? ", inplace=true" : ""; }

std::string describe(const ReLUImpl& m) { return m.options.inplace() ? "ReLU(inplace=true)" : "ReLU()"; }
std::string describe(const ReLU6Impl& m) { return m.options.inplace() ? "ReLU6(inplace=true)" : "ReLU6()"; }
std::string describe(const SELUImpl& m) { return m.options.inplace() ? "SELU(inplace=true)" : "SELU()"; }
std::string describe(const CELUImpl& m) {
  return concat("CELU(alpha=", number_text(m.options.alpha()), inplace(m.options.inplace()), ")");
}
std::string describe(const GLUImpl& m) { return concat("GLU(dim=", m.options.dim(), ")"); }
std::string describe(const HardshrinkImpl& m) {
  return concat("Hardshrink(", number_text(m.options.lambda()), ")");
}
std::string describe(const SoftshrinkImpl& m) {
  return concat("Softshrink(", number_text(m.options.lambda()), ")");
}
std::string describe(const ThresholdImpl& m) {
  return concat("Threshold(threshold=", number_text(m.options.threshold()),
                ", value=", number_text(m.options.value()), inplace(m.options.inplace()), ")");
}
std::string describe(const HardsigmoidImpl&) { return "Hardsigmoid()"; }
std::string describe(const HardswishImpl&) { return "Hardswish()"; }
std::string describe(const LogSigmoidImpl&) { return "LogSigmoid()"; }
std::string describe(const SoftsignImpl&) { return "Softsign()"; }
std::string describe(const TanhshrinkImpl&) { return "Tanhshrink()"; }
std::string describe(const RReLUImpl& m) {
  return concat("RReLU(lower=", number_text(m.options.lower()), ", upper=", number_text(m.options.upper()),
                inplace(m.options.inplace()), ")");
}
std::string describe(const PReLUImpl& m) {
  return concat("PReLU(num_parameters=", m.options.num_parameters(), ")");
}
std::string describe(const SoftminImpl& m) { return concat("Softmin(dim=", m.options.dim(), ")"); }
std::string describe(const Softmax2dImpl&) { return "Softmax2d()"; }
std::string describe(const LeakyReLUImpl& m) {
  return concat("LeakyReLU(negative_slope=", number_text(m.options.negative_slope()),
                inplace(m.options.inplace()), ")");
}
std::string describe(const GELUImpl& m) {
  const bool exact = m.options.approximate() == "none";
  return exact ? "GELU()" : "GELU(approximate=" + m.options.approximate() + ")";
}
std::string describe(const SiLUImpl&) { return "SiLU()"; }
std::string describe(const MishImpl&) { return "Mish()"; }
std::string describe(const SigmoidImpl&) { return "Sigmoid()"; }
std::string describe(const TanhImpl&) { return "Tanh()"; }
std::string describe(const SoftplusImpl& m) {
  return concat("Softplus(beta=", number_text(m.options.beta()),
                ", threshold=", number_text(m.options.threshold()), ")");
}
std::string describe(const ELUImpl& m) {
  return concat("ELU(alpha=", number_text(m.options.alpha()), inplace(m.options.inplace()), ")");
}
std::string describe(const HardtanhImpl& m) {
  return concat("Hardtanh(min_val=", number_text(m.options.min_val()),
                ", max_val=", number_text(m.options.max_val()), inplace(m.options.inplace()), ")");
}
std::string describe(const SoftmaxImpl& m) { return concat("Softmax(dim=", m.options.dim(), ")"); }
std::string describe(const LogSoftmaxImpl& m) { return concat("LogSoftmax(dim=", m.options.dim(), ")"); }

}  // namespace

template <class Derived>
void ActivationBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << describe(static_cast<const Derived&>(*this));
}

template class ActivationBase<ReLUImpl>;
template class ActivationBase<LeakyReLUImpl>;
template class ActivationBase<GELUImpl>;
template class ActivationBase<SiLUImpl>;
template class ActivationBase<MishImpl>;
template class ActivationBase<SigmoidImpl>;
template class ActivationBase<TanhImpl>;
template class ActivationBase<SoftplusImpl>;
template class ActivationBase<ELUImpl>;
template class ActivationBase<HardtanhImpl>;
template class ActivationBase<SoftmaxImpl>;
template class ActivationBase<LogSoftmaxImpl>;
template class ActivationBase<ReLU6Impl>;
template class ActivationBase<SELUImpl>;
template class ActivationBase<CELUImpl>;
template class ActivationBase<GLUImpl>;
template class ActivationBase<HardshrinkImpl>;
template class ActivationBase<SoftshrinkImpl>;
template class ActivationBase<ThresholdImpl>;
template class ActivationBase<HardsigmoidImpl>;
template class ActivationBase<HardswishImpl>;
template class ActivationBase<LogSigmoidImpl>;
template class ActivationBase<SoftsignImpl>;
template class ActivationBase<TanhshrinkImpl>;
template class ActivationBase<RReLUImpl>;
template class ActivationBase<PReLUImpl>;
template class ActivationBase<SoftminImpl>;
template class ActivationBase<Softmax2dImpl>;

Tensor RReLUImpl::forward(Tensor input) {
  return functional::rrelu(std::move(input), functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .training(is_training())
                                                 .inplace(options.inplace()));
}

PReLUImpl::PReLUImpl(const PReLUOptions& options) : options(options) { PReLUImpl::reset(); }

void PReLUImpl::reset() {
  if (options.num_parameters() < 1)
    fail("PReLU", "num_parameters must be positive, got ", options.num_parameters());
  weight = register_parameter("weight", full({options.num_parameters()}, options.init()));
}

Tensor Softmax2dImpl::forward(const Tensor& input) {
  if (input.dim() != 3 && input.dim() != 4)
    fail("Softmax2d", "expected (N, C, H, W) or (C, H, W), got ", input);
  return halftone::softmax(input, -3);
}

}  // namespace halftone::nn
