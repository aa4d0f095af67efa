#include "halftone/nn/loss.h"

#include <ostream>

#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace {

std::string describe(const HingeEmbeddingLossOptions& o) {
  return concat("margin=", number_text(o.margin()));
}
std::string describe(const MultiMarginLossOptions& o) {
  return concat("p=", number_text(o.p()), ", margin=", number_text(o.margin()));
}
std::string describe(const CosineEmbeddingLossOptions& o) {
  return concat("margin=", number_text(o.margin()));
}
std::string describe(const TripletMarginLossOptions& o) {
  return concat("margin=", number_text(o.margin()), ", p=", number_text(o.p()),
                ", eps=", number_text(o.eps()), ", swap=", o.swap());
}
std::string describe(const TripletMarginWithDistanceLossOptions& o) {
  return concat("margin=", number_text(o.margin()), ", swap=", o.swap());
}
template <class Options>
std::string describe(const Options&) {
  return {};
}

}  // namespace

template <class Derived, class Options>
LossBase<Derived, Options>::LossBase(Options loss_options) : options(std::move(loss_options)) {
  LossBase::reset();
}

template <class Derived, class Options>
void LossBase<Derived, Options>::reset() {
  // A handle of this module's own on the data, so that converting a copy of the module leaves the original
  // alone.
  const auto own = [this](const char* name, Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.detach();
    this->register_buffer(name, tensor);
  };
  (void)own;
  if constexpr (requires { options.weight(); }) own("weight", options.weight());
  if constexpr (requires { options.pos_weight(); }) own("pos_weight", options.pos_weight());
}

template <class Derived, class Options>
void LossBase<Derived, Options>::pretty_print(std::ostream& stream) const {
  const std::string full = this->name();  // "halftone::nn::MSELossImpl"
  const std::size_t start = full.rfind(':') + 1;
  stream << kLayerPrefix << full.substr(start, full.size() - start - std::string_view("Impl").size()) << "("
         << describe(options) << ")";
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
template class LossBase<HingeEmbeddingLossImpl, HingeEmbeddingLossOptions>;
template class LossBase<MultiMarginLossImpl, MultiMarginLossOptions>;
template class LossBase<CosineEmbeddingLossImpl, CosineEmbeddingLossOptions>;
template class LossBase<MultiLabelMarginLossImpl, MultiLabelMarginLossOptions>;
template class LossBase<SoftMarginLossImpl, SoftMarginLossOptions>;
template class LossBase<MultiLabelSoftMarginLossImpl, MultiLabelSoftMarginLossOptions>;
template class LossBase<TripletMarginLossImpl, TripletMarginLossOptions>;
template class LossBase<TripletMarginWithDistanceLossImpl, TripletMarginWithDistanceLossOptions>;
template class LossBase<PoissonNLLLossImpl, PoissonNLLLossOptions>;
template class LossBase<MarginRankingLossImpl, MarginRankingLossOptions>;
template class LossBase<CTCLossImpl, CTCLossOptions>;

}  // namespace halftone::nn
