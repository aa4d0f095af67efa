#include "halftone/amp/loss_scaling_options.h"

#include <cmath>
#include <limits>
#include <utility>

#include "halftone/engine/error.h"

namespace halftone::amp {
namespace {

[[noreturn]] void wrong(const char* field, const char* expected, double got) {
  fail("LossScalingOptions", field, ": expected ", expected, ", got ", got);
}

// The scale lives in fp32.
double checked_scale(const char* field, double value) {
  if (!(value > 0) || value > static_cast<double>(std::numeric_limits<float>::max()) ||
      static_cast<float>(value) <= 0) {
    wrong(field, "a finite positive float32", value);
  }
  return value;
}

std::int64_t checked_count(const char* field, std::int64_t value) {
  if (value < 1) wrong(field, "at least 1", static_cast<double>(value));
  return value;
}

}  // namespace

LossScalingOptions& LossScalingOptions::init_scale(double value) {
  init_scale_ = checked_scale("init_scale", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::growth_factor(double value) {
  if (!(value > 1) || std::isinf(value)) wrong("growth_factor", "a finite number above 1", value);
  growth_factor_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::backoff_factor(double value) {
  if (!(value > 0 && value < 1)) wrong("backoff_factor", "a number between 0 and 1", value);
  backoff_factor_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::growth_interval(std::int64_t value) {
  growth_interval_ = checked_count("growth_interval", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::min_scale(double value) {
  min_scale_ = checked_scale("min_scale", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::max_scale(double value) {
  max_scale_ = checked_scale("max_scale", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::hysteresis(std::int64_t value) {
  hysteresis_ = checked_count("hysteresis", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::refill_hysteresis(bool value) {
  refill_hysteresis_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::stalled_after(std::int64_t value) {
  stalled_after_ = checked_count("stalled_after", value);
  return *this;
}

LossScalingOptions& LossScalingOptions::at_floor(AtFloor value) {
  at_floor_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::on_floor(std::function<void(double)> callback) {
  on_floor_ = std::move(callback);
  return *this;
}

LossScalingOptions& LossScalingOptions::strict(bool value) {
  strict_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::clear_on_skip(bool value) {
  clear_on_skip_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::accumulation(Accumulation value) {
  accumulation_ = value;
  return *this;
}

LossScalingOptions& LossScalingOptions::enabled(bool value) {
  enabled_ = value;
  return *this;
}

void LossScalingOptions::check() const {
  if (min_scale_ > init_scale_) {
    fail("LossScalingOptions", "min_scale ", min_scale_, " is above init_scale ", init_scale_);
  }
  if (max_scale_ < init_scale_) {
    fail("LossScalingOptions", "max_scale ", max_scale_, " is below init_scale ", init_scale_);
  }
  if (at_floor_ == AtFloor::kCallback && !on_floor_) {
    fail("LossScalingOptions", "at_floor(kCallback) needs on_floor, the function to call");
  }
}

}  // namespace halftone::amp
