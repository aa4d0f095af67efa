#pragma once

#include <cstdint>

#include "halftone/tests/simt/control.h"

namespace simt {

/// What the environment and control.h chose.
struct Settings {
  control::Order order = control::Order::kForward;
  control::Streams streams = control::Streams::kEager;
  std::uint64_t order_seed = 1;
  std::uint64_t streams_seed = 1;
  bool host_guard = false;
  bool defer_pageable = false;
  int device_count = 1;
  int absence_reason = 35;
  std::size_t device_memory = std::size_t{8} << 30;
  std::uint64_t failing_allocation = 0;  // counts down; the one that finds 1 fails
  std::uint64_t grids = 0;

  /// A seed for the next grid.
  std::uint64_t next_seed() { return order_seed * 1'000'003 + ++grids; }
};

Settings& settings();

}  // namespace simt
