#include "halftone/nn/activation.h"

#include <ostream>

namespace halftone::nn {

namespace {

std::string describe(const ReLUImpl&) { return "ReLU()"; }
std::string describe(const LeakyReLUImpl& m) {
  return concat("LeakyReLU(negative_slope=", m.options.negative_slope(), ")");
}
std::string describe(const GELUImpl& m) { return "GELU(approximate=" + m.options.approximate() + ")"; }
std::string describe(const SiLUImpl&) { return "SiLU()"; }
std::string describe(const MishImpl&) { return "Mish()"; }
std::string describe(const SigmoidImpl&) { return "Sigmoid()"; }
std::string describe(const TanhImpl&) { return "Tanh()"; }
std::string describe(const SoftplusImpl& m) {
  return concat("Softplus(beta=", m.options.beta(), ", threshold=", m.options.threshold(), ")");
}
std::string describe(const ELUImpl& m) { return concat("ELU(alpha=", m.options.alpha(), ")"); }
std::string describe(const HardtanhImpl& m) {
  return concat("Hardtanh(min_val=", m.options.min_val(), ", max_val=", m.options.max_val(), ")");
}
std::string describe(const SoftmaxImpl& m) { return concat("Softmax(dim=", m.options.dim(), ")"); }
std::string describe(const LogSoftmaxImpl& m) { return concat("LogSoftmax(dim=", m.options.dim(), ")"); }

}  // namespace

template <class Derived>
void ActivationBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << describe(static_cast<const Derived&>(*this));
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

}  // namespace halftone::nn
