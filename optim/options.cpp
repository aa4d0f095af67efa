#include "halftone/optim/options.h"

#include <cmath>

namespace halftone::optim {
namespace {

constexpr const char* kNone = "none";

// One pair of functions per kind of field. What is not set is saved as the text "none".
StateDict::Value saved(const double& value) { return value; }
StateDict::Value saved(const bool& value) { return value; }
StateDict::Value saved(const std::int64_t& value) { return value; }
StateDict::Value saved(const std::optional<ScalarType>& dtype) {
  return std::string(dtype ? dtype_name(*dtype) : kNone);
}
StateDict::Value saved(const std::optional<std::string>& text) { return text.value_or(kNone); }
StateDict::Value saved(const std::optional<std::int64_t>& value) {
  return value ? StateDict::Value(*value) : StateDict::Value(std::string(kNone));
}

bool is_none(const StateDict& state, const char* name) {
  const StateDict::Value* value = state.find(name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text && *text == kNone;
}

void load(double& value, const StateDict& state, const char* name) { value = state.number(name); }
void load(bool& value, const StateDict& state, const char* name) { value = state.boolean(name); }
void load(std::int64_t& value, const StateDict& state, const char* name) { value = state.integer(name); }
void load(std::optional<std::int64_t>& value, const StateDict& state, const char* name) {
  value = is_none(state, name) ? std::nullopt : std::optional(state.integer(name));
}
void load(std::optional<std::string>& text, const StateDict& state, const char* name) {
  text = is_none(state, name) ? std::nullopt : std::optional(state.text(name));
}
void load(std::optional<ScalarType>& half, const StateDict& state, const char* name) {
  const std::string text = state.text(name);
  half.reset();
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    if (text == dtype_name(dtype)) half = dtype;
  }
  if (!half && text != kNone) {
    fail("load_state_dict", name, ": expected float16, bfloat16 or none, got '", text, "'");
  }
}

}  // namespace

void OptimizerOptions::add_common_fields(std::vector<OptionField>& fields) {
  fields.push_back({"master_weights", &master_weights_});
  fields.push_back({"stochastic_rounding", &stochastic_rounding_});
  fields.push_back({"half_shadow", &half_shadow_});
}

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
    std::visit([&](const auto* value) { state.set(field.name, saved(*value)); }, field.value);
  }
  return state;
}

void OptimizerOptions::load_state_dict(const StateDict& state) {
  for (const OptionField& field : fields()) {
    std::visit([&](auto* value) { load(*value, state, field.name); }, field.value);
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

OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params,
                                         std::unique_ptr<OptimizerOptions> options)
    : params_(std::move(params)), options_(std::move(options)) {}

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_),
      names_(other.names_),
      options_(other.has_options() ? other.options_->clone() : nullptr),
      initial_lr_(other.initial_lr_) {}

OptimizerParamGroup::OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
OptimizerParamGroup::~OptimizerParamGroup() = default;

OptimizerParamGroup& OptimizerParamGroup::operator=(OptimizerParamGroup other) {
  params_.swap(other.params_);
  names_.swap(other.names_);
  options_.swap(other.options_);
  initial_lr_.swap(other.initial_lr_);
  return *this;
}

void OptimizerParamGroup::set_options(std::unique_ptr<OptimizerOptions> options) {
  options_ = std::move(options);
}

ParameterList::ParameterList(std::vector<Tensor> params) { groups_.emplace_back(std::move(params)); }
ParameterList::ParameterList(std::initializer_list<Tensor> params)
    : ParameterList(std::vector<Tensor>(params)) {}
ParameterList::ParameterList(std::vector<OptimizerParamGroup> groups) : groups_(std::move(groups)) {}
ParameterList::ParameterList(std::initializer_list<OptimizerParamGroup> groups) : groups_(groups) {}
ParameterList::ParameterList(const std::vector<std::pair<std::string, Tensor>>& named) {
  groups_.emplace_back(named);
}
ParameterList::ParameterList(std::initializer_list<std::pair<std::string, Tensor>> named)
    : ParameterList(std::vector<std::pair<std::string, Tensor>>(named)) {}

}  // namespace halftone::optim
