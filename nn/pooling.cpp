#include "halftone/nn/pooling.h"

#include <ostream>

namespace halftone::nn {

namespace {

template <std::size_t D>
std::string describe(const char* name, const MaxPoolOptions<D>& o) {
  return concat(name, D, "d(kernel_size=", IntArrayRef(o.kernel_size()), ", stride=", IntArrayRef(o.stride()),
                ", padding=", IntArrayRef(o.padding()), ", dilation=", IntArrayRef(o.dilation()),
                ", ceil_mode=", o.ceil_mode(), ")");
}

template <std::size_t D>
std::string describe(const char* name, const AvgPoolOptions<D>& o) {
  return concat(name, D, "d(kernel_size=", IntArrayRef(o.kernel_size()), ", stride=", IntArrayRef(o.stride()),
                ", padding=", IntArrayRef(o.padding()), ")");
}

template <std::size_t D>
std::string describe(const char* name, const AdaptiveAvgPoolOptions<D>& o) {
  return concat(name, D, "d(output_size=", IntArrayRef(o.output_size()), ")");
}

template <std::size_t D>
const char* family(const MaxPoolOptions<D>&) {
  return "MaxPool";
}
template <std::size_t D>
const char* family(const AvgPoolOptions<D>&) {
  return "AvgPool";
}
template <std::size_t D>
const char* family(const AdaptiveAvgPoolOptions<D>&) {
  return "AdaptiveAvgPool";
}

}  // namespace

template <class Derived, class Options>
void PoolBase<Derived, Options>::pretty_print(std::ostream& stream) const {
  stream << describe(family(options), options);
}

template class PoolBase<MaxPool1dImpl, MaxPool1dOptions>;
template class PoolBase<MaxPool2dImpl, MaxPool2dOptions>;
template class PoolBase<AvgPool1dImpl, AvgPool1dOptions>;
template class PoolBase<AvgPool2dImpl, AvgPool2dOptions>;
template class PoolBase<AdaptiveAvgPool1dImpl, AdaptiveAvgPool1dOptions>;
template class PoolBase<AdaptiveAvgPool2dImpl, AdaptiveAvgPool2dOptions>;

}  // namespace halftone::nn
