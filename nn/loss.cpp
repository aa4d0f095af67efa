#include "halftone/nn/loss.h"

#include <ostream>

namespace halftone::nn {

template <class Derived, class Options>
void LossBase<Derived, Options>::pretty_print(std::ostream& stream) const {
  const std::string full = this->name();  // "halftone::nn::MSELossImpl"
  const std::size_t start = full.rfind(':') + 1;
  stream << full.substr(start, full.size() - start - std::string_view("Impl").size()) << "()";
}

template class LossBase<CrossEntropyLossImpl, CrossEntropyLossOptions>;
template class LossBase<NLLLossImpl, NLLLossOptions>;
template class LossBase<MSELossImpl, MSELossOptions>;
template class LossBase<L1LossImpl, L1LossOptions>;
template class LossBase<SmoothL1LossImpl, SmoothL1LossOptions>;
template class LossBase<HuberLossImpl, HuberLossOptions>;
template class LossBase<BCELossImpl, BCELossOptions>;
template class LossBase<BCEWithLogitsLossImpl, BCEWithLogitsLossOptions>;
template class LossBase<KLDivLossImpl, KLDivLossOptions>;

}  // namespace halftone::nn
