#include "halftone/nn/pad_with_input.h"

#include <algorithm>

namespace halftone::nn::detail {
namespace {

/// Where place `i` of the padded dimension, counted from the input's start, reads an input of `size`
/// elements.
std::int64_t source(std::string_view mode, std::int64_t i, std::int64_t size) {
  if (mode == "replicate") return std::clamp<std::int64_t>(i, 0, size - 1);
  if (mode == "circular") return ((i % size) + size) % size;
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

void check_fits(std::string_view mode, const Tensor& input, std::int64_t dim, std::int64_t amount) {
  const std::int64_t size = input.size(dim), most = mode == "reflect" ? size - 1 : size;
  if (size == 0 || (mode != "replicate" && amount > most)) {
    fail("pad", "mode ", mode, " can pad dimension ", dim, " of ", input, " by at most ",
         std::max<std::int64_t>(most, 0), ", got ", amount);
  }
}

}  // namespace

Tensor pad_with_input(const Tensor& input, IntArrayRef pad, std::string_view mode) {
  Tensor result = input;
  for (std::size_t i = 0; i + 1 < pad.size(); i += 2) {
    const std::int64_t before = pad[i], after = pad[i + 1];
    if (before == 0 && after == 0) continue;
    const std::int64_t dim = input.dim() - 1 - static_cast<std::int64_t>(i / 2), size = input.size(dim);
    check_fits(mode, input, dim, std::max(before, after));
    const std::int64_t length = size + before + after;
    if (length < 0)
      fail("pad", "(", before, ", ", after, ") leaves nothing of dimension ", dim, " of ", input);
    const Tensor places = empty({length}, TensorOptions(kLong).device(kCPU));
    for (std::int64_t place = 0; place < length; ++place) {
      places.data_ptr<std::int64_t>()[place] = source(mode, place - before, size);
    }
    result = index_select(result, dim, places.to(input.device()));
  }
  return result;
}

}  // namespace halftone::nn::detail
