#include "halftone/optim/options.h"

#include <cmath>

namespace halftone::optim {
namespace {

constexpr const char* kNoDtype = "none";

std::optional<ScalarType> half_dtype_of(const std::string& text) {
  if (text == kNoDtype) return std::nullopt;
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    if (text == dtype_name(dtype)) return dtype;
  }
  fail("load_state_dict", "half_shadow: expected float16, bfloat16 or none, got '", text, "'");
}

}  // namespace

void OptimizerOptions::set_half_shadow(std::optional<ScalarType> dtype) {
  if (dtype && !is_low_precision(*dtype)) fail("half_shadow", "expected float16 or bfloat16, got ", *dtype);
  half_shadow_ = dtype;
}

double* OptimizerOptions::find_number(const std::string& name) {
  for (const OptionField& field : fields()) {
    if (name == field.name && std::holds_alternative<double*>(field.value))
      return std::get<double*>(field.value);
  }
  return nullptr;
}

StateDict OptimizerOptions::state_dict() {
  StateDict state;
  for (const OptionField& field : fields()) {
    if (auto* number = std::get_if<double*>(&field.value)) {
      state.set(field.name, **number);
    } else if (auto* flag = std::get_if<bool*>(&field.value)) {
      state.set(field.name, **flag);
    } else {
      const auto& dtype = *std::get<std::optional<ScalarType>*>(field.value);
      state.set(field.name, std::string(dtype ? dtype_name(*dtype) : kNoDtype));
    }
  }
  return state;
}

void OptimizerOptions::load_state_dict(const StateDict& state) {
  for (const OptionField& field : fields()) {
    if (auto* number = std::get_if<double*>(&field.value)) {
      **number = state.number(field.name);
    } else if (auto* flag = std::get_if<bool*>(&field.value)) {
      **flag = state.boolean(field.name);
    } else {
      *std::get<std::optional<ScalarType>*>(field.value) = half_dtype_of(state.text(field.name));
    }
  }
  check();
}

void check_not_negative(const char* optimizer, const char* field, double value) {
  if (!(value >= 0) || std::isinf(value))
    fail(optimizer, field, ": expected a finite number >= 0, got ", value);
}

void check_fraction(const char* optimizer, const char* field, double value) {
  if (!(value >= 0 && value < 1)) fail(optimizer, field, ": expected a number in [0, 1), got ", value);
}

OptimizerParamGroup::OptimizerParamGroup(const std::vector<std::pair<std::string, Tensor>>& named,
                                         std::unique_ptr<OptimizerOptions> options)
    : options_(std::move(options)) {
  for (const auto& [name, tensor] : named) {
    params_.push_back(tensor);
    names_.push_back(name);
  }
}

}  // namespace halftone::optim
