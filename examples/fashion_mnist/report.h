#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What one training run gave.
struct Run {
  std::string precision;
  double accuracy = 0;          ///< of the test images, 0 .. 1
  double ms_per_step = 0;       ///< mean over the training steps of this run
  std::size_t saved_bytes = 0;  ///< kept for backward at one step, parameters not counted
  std::size_t peak_bytes = 0;   ///< most memory in use during training, without the images
  double final_scale = 0;       ///< 0: no loss scaling
  std::int64_t skipped_steps = 0;
  std::vector<float> losses;  ///< one per step
  std::vector<float> scales;  ///< one per step; empty without loss scaling
};

/// The table: one line per run.
void print_table(const std::vector<Run>& runs);

/// One page with the table and the curves, complete in itself. Returns false when the file cannot be written.
bool write_html(const std::string& path, const std::string& title, const std::vector<Run>& runs);
