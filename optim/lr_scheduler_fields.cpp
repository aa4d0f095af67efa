#include "halftone/optim/lr_scheduler_fields.h"

#include <algorithm>
#include <type_traits>

#include "halftone/optim/optimizer.h"

namespace halftone::optim::detail {
namespace {

constexpr const char* kScheduler = "scheduler";

template <class T>
requires std::is_arithmetic_v<T> StateDict::Value saved(T value) { return value; }
template <class T>
StateDict::Value saved(const std::vector<T>& values) {
  Tensor list = empty({static_cast<std::int64_t>(values.size())}, TensorOptions(dtype_of<T>).device(kCPU));
  std::copy(values.begin(), values.end(), list.data_ptr<T>());
  return list;
}

void load(const StateDict& state, const char* name, bool& value) { value = state.boolean(name); }
void load(const StateDict& state, const char* name, std::int64_t& value) { value = state.integer(name); }
void load(const StateDict& state, const char* name, double& value) { value = state.number(name); }
template <class T>
void load(const StateDict& state, const char* name, std::vector<T>& values) {
  const Tensor list = state.tensor(name);
  if (!list.defined() || list.dim() != 1 || list.scalar_type() != dtype_of<T>)
    fail("load_state_dict", name, ": expected ", dtype_of<T>, " of one dimension, got ", list);
  const Tensor dense = list.cpu().contiguous();
  values.assign(dense.data_ptr<T>(), dense.data_ptr<T>() + dense.numel());
}

}  // namespace

StateDict save_fields(const char* scheduler, const std::vector<SchedulerField>& fields) {
  StateDict state;
  state.set(kScheduler, std::string(scheduler));
  for (const SchedulerField& field : fields) {
    std::visit([&](const auto* value) { state.set(field.name, saved(*value)); }, field.value);
  }
  return state;
}

void load_fields(const char* scheduler, const std::vector<SchedulerField>& fields, const StateDict& state) {
  const std::string found = state.text(kScheduler);
  if (found != scheduler)
    fail("load_state_dict", "expected the state of ", scheduler, ", got that of ", found);
  for (const SchedulerField& field : fields) {
    std::visit([&](auto* value) { load(state, field.name, *value); }, field.value);
  }
}

std::vector<double> group_lrs(const Optimizer& optimizer) {
  std::vector<double> lrs;
  for (const OptimizerParamGroup& group : optimizer.param_groups()) lrs.push_back(group.options().get_lr());
  return lrs;
}

std::vector<double> one_per_group(const char* scheduler, const char* field, const Optimizer& optimizer,
                                  const std::vector<double>& values) {
  const std::size_t groups = optimizer.param_groups().size();
  if (values.size() == groups) return values;
  if (values.size() == 1) return std::vector<double>(groups, values[0]);
  fail(scheduler, field, ": expected one value, or one for each of the optimizer's ", groups, " groups, got ",
       values.size());
}

void check_count(const char* scheduler, const char* field, std::int64_t value, std::int64_t minimum) {
  constexpr std::int64_t kMaximum = std::int64_t{1} << 53;  // what a double counts exactly
  if (value < minimum || value > kMaximum)
    fail(scheduler, field, ": expected a whole number >= ", minimum, ", got ", value);
}

void check_range(const char* scheduler, const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high))
    fail(scheduler, field, ": expected a number in [", low, ", ", high, "], got ", value);
}

}  // namespace halftone::optim::detail
