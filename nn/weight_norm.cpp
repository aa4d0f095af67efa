#include "halftone/nn/utils/weight_norm.h"

#include <algorithm>

#include "halftone/autograd/node.h"
#include "halftone/engine/nn_functions.h"

namespace halftone::nn {

Tensor Module::normalized(const Tensor& member, std::string_view name) const {
  const auto norm = std::find_if(weight_norms_.begin(), weight_norms_.end(),
                                 [&](const WeightNorm& each) { return each.name == name; });
  if (norm == weight_norms_.end()) return member;
  if (member.defined()) {
    fail("weight_norm", "'", name, "' of ", this->name(), " was assigned ", member,
         " while it is computed from direction and length; call remove_weight_norm first");
  }
  return _weight_norm(parameters_[norm->name + "_v"], parameters_[norm->name + "_g"], norm->dim);
}

void Module::add_weight_norm(const WeightNorm& norm) {
  const NoGradGuard no_grad;
  Tensor& member = *normalizable(norm.name);
  const Tensor direction = member.detach().clone();
  const Tensor length = norm_except_dim(direction, 2, norm.dim);
  const std::string label = autograd::meta_of(member).name;
  for (const auto& [suffix, value] : {std::pair("_g", length), std::pair("_v", direction)}) {
    register_parameter(norm.name + suffix, value, member.requires_grad());
    autograd::meta_of(value).name = label + suffix;
  }
  parameters_.erase(norm.name);
  member = Tensor();
  weight_norms_.push_back(norm);
}

void Module::drop_weight_norm(WeightNorm norm) {
  const NoGradGuard no_grad;
  Tensor& member = *normalizable(norm.name);
  const Tensor weight = normalized(member, norm.name);
  const Tensor direction = parameters_[norm.name + "_v"];
  const std::string label = autograd::meta_of(direction).name;
  for (const char* suffix : {"_g", "_v"}) parameters_.erase(norm.name + suffix);
  std::erase(weight_norms_, norm);
  member = register_parameter(norm.name, weight, direction.requires_grad());
  autograd::meta_of(member).name = label.substr(0, label.size() - 2);
}

void Module::match_weight_norms(const Module& original) {
  const auto missing = [](const std::vector<WeightNorm>& from, const std::vector<WeightNorm>& in) {
    std::vector<WeightNorm> result;
    for (const WeightNorm& norm : from) {
      if (std::find(in.begin(), in.end(), norm) == in.end()) result.push_back(norm);
    }
    return result;
  };
  for (const WeightNorm& norm : missing(weight_norms_, original.weight_norms_)) drop_weight_norm(norm);
  for (const WeightNorm& norm : missing(original.weight_norms_, weight_norms_)) add_weight_norm(norm);
  for (auto& child : children_) {
    if (const auto* theirs = original.children_.find(child.key()))
      child.value()->match_weight_norms(**theirs);
  }
}

namespace utils {

void weight_norm(Module& module, const std::string& name, optional<std::int64_t> dim) {
  const char* const op = "weight_norm";
  const auto& norms = module.weight_norms_;
  if (std::any_of(norms.begin(), norms.end(), [&](const auto& norm) { return norm.name == name; })) {
    fail(op, "'", name, "' of ", module.name(), " is normalised already");
  }
  const Tensor* member = module.normalizable(name);
  if (!member || !member->defined()) {
    fail(
        op, "'", name, "' of ", module.name(), " cannot be normalised: the weight of Linear, Conv, ",
        "ConvTranspose, Bilinear, Embedding and EmbeddingBag can, and what a module names in normalizable()");
  }
  const std::int64_t kept = dim.value_or(-1) == -1 ? -1 : wrap_dim(op, *dim, member->dim());
  if (norm_except_dim(member->detach(), 2, kept).eq(0).any().item<bool>()) {
    fail(op, "'", name, "' of ", module.name(), ", ", *member, ", has a part of norm 0, without a direction");
  }
  module.add_weight_norm({name, kept});
}

void remove_weight_norm(Module& module, const std::string& name) {
  for (const auto& norm : module.weight_norms_) {
    if (norm.name == name) return module.drop_weight_norm(norm);
  }
  fail("remove_weight_norm", "'", name, "' of ", module.name(), " is not normalised");
}

}  // namespace utils
}  // namespace halftone::nn
