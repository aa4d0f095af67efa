#include "halftone/nn/fold.h"

#include <ostream>

#include "halftone/engine/tensor.h"
#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace functional {

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options) {
  return im2col(input, options.kernel_size(), options.dilation(), options.padding(), options.stride());
}

Tensor fold(const Tensor& input, const FoldFuncOptions& options) {
  return col2im(input, options.output_size(), options.kernel_size(), options.dilation(), options.padding(),
                options.stride());
}

}  // namespace functional

namespace {

std::string windows_text(const auto& options) {
  return concat("kernel_size=", IntArrayRef(options.kernel_size()),
                ", dilation=", IntArrayRef(options.dilation()), ", padding=", IntArrayRef(options.padding()),
                ", stride=", IntArrayRef(options.stride()), ")");
}

}  // namespace

void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Unfold(" << windows_text(options);
}

void FoldImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Fold(" << concat("output_size=", IntArrayRef(options.output_size()), ", ")
         << windows_text(options);
}

}  // namespace halftone::nn
