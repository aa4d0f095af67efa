#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "halftone/engine/state_dict.h"

namespace halftone::optim {

class Optimizer;

namespace detail {

/// One member of a scheduler by name, for its state dictionary.
struct SchedulerField {
  const char* name;
  std::variant<bool*, std::int64_t*, double*, std::vector<std::int64_t>*, std::vector<double>*> value;
};

/// The scheduler's name and its fields; lists become 1-d tensors (int64, float64).
StateDict save_fields(const char* scheduler, const std::vector<SchedulerField>& fields);
/// Throws Error when the state is another scheduler's, or naming the entry that is missing or of another
/// kind; the fields before that one have been read by then.
void load_fields(const char* scheduler, const std::vector<SchedulerField>& fields, const StateDict& state);

/// The learning rate of each param group.
std::vector<double> group_lrs(const Optimizer& optimizer);
/// One value for each group: `values` has one for all, or one each. Throws Error otherwise.
std::vector<double> one_per_group(const char* scheduler, const char* field, const Optimizer& optimizer,
                                  const std::vector<double>& values);

/// Throws Error unless minimum <= value <= 2^53.
void check_count(const char* scheduler, const char* field, std::int64_t value, std::int64_t minimum);
/// Throws Error unless low <= value <= high.
void check_range(const char* scheduler, const char* field, double value, double low, double high);

}  // namespace detail
}  // namespace halftone::optim
