#pragma once

#include <cstdint>
#include <string>

#include "halftone/nn/module.h"

namespace halftone::nn::utils {

/// Weight normalisation (Salimans and Kingma, arXiv:1602.07868): in the place of parameter `name`, the module
/// gets a direction `name`_v, shaped like it, and a length `name`_g, and each forward() computes the weight
/// g * v / |v|. The norms are taken over all dimensions but `dim`, which g keeps (the others have size 1), or
/// with nullopt (or -1, as in PyTorch) over all of them; g is then 0-d. At first the weight is what it was.
///
/// The module's own member, such as `linear->weight`, is undefined meanwhile, so that nothing can compute
/// with a weight of an earlier step. Copies, checkpoints, conversions and optimizers see g and v; make the
/// optimizer afterwards. Copies are normalised like their original.
///
/// For `weight` of Linear, Conv, ConvTranspose, Bilinear, Embedding and EmbeddingBag, and what a module of
/// yours names in Module::normalizable(). Throws Error for other parameters, for one that is normalised
/// already, and for a weight with a part of norm 0, which has no direction.
void weight_norm(Module& module, const std::string& name = "weight", optional<std::int64_t> dim = 0);

/// The same for a holder or shared pointer, which it returns: `fc = weight_norm(nn::Linear(4, 3))`.
template <class Layer>
requires requires(const Layer& layer) { static_cast<Module&>(*layer); }
Layer weight_norm(Layer layer, const std::string& name = "weight", optional<std::int64_t> dim = 0) {
  weight_norm(static_cast<Module&>(*layer), name, dim);
  return layer;
}

/// Makes the present weight a parameter again, the last of the module's. Throws Error unless it is
/// normalised.
void remove_weight_norm(Module& module, const std::string& name = "weight");

/// The same for a holder or shared pointer, which it returns.
template <class Layer>
requires requires(const Layer& layer) { static_cast<Module&>(*layer); }
Layer remove_weight_norm(Layer layer, const std::string& name = "weight") {
  remove_weight_norm(static_cast<Module&>(*layer), name);
  return layer;
}

}  // namespace halftone::nn::utils
