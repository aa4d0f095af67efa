#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What tests may ask of the emulated device. Programs under test do not include this.
namespace simt::control {

/// Exit status after an illegal access to device memory, which cannot be survived.
inline constexpr int kIllegalAccessExit = 86;
/// Exit status of a process that would have ended well although bugs were reported that it never asked for.
inline constexpr int kOverlookedReportExit = 87;

/// The order of the blocks of a grid, of the threads of a block, and of threads released by a barrier.
enum class Order { kForward, kReverse, kRandom };
/// From the environment: HALFTONE_SIMT_ORDER=forward|reverse|random:SEED.
void set_order(Order order, std::uint64_t seed = 1);

/// When enqueued work runs: at once; as late as possible (when something waits for it); or at random in
/// between.
enum class Streams { kEager, kLazy, kRandom };
/// From the environment: HALFTONE_SIMT_STREAMS=eager|lazy|random:SEED. Runs what is pending first.
void set_streams(Streams streams, std::uint64_t seed = 1);

/// Device memory is out of the host's reach outside of operations; on by default with lazy and random
/// streams.
void set_host_guard(bool on);
/// Pageable memory is treated as pinned: copies read and write it as late as possible.
void set_defer_pageable(bool on);

/// The devices there are, HALFTONE_SIMT_DEVICES from the environment (1). With 0, calls fail with `reason`:
/// 35 (cudaErrorInsufficientDriver) or 100 (cudaErrorNoDevice).
void set_device_count(int count, int reason = 35);
/// Memory of each device.
void set_device_memory(std::size_t bytes);
/// The `n`-th allocation of device memory from now on fails (1: the next); 0: none.
void fail_allocation(std::uint64_t n);

/// The latest report, or an empty string. Asking counts as having seen all reports so far.
std::string last_report();
/// All reports since the last call.
std::vector<std::string> take_reports();
/// Makes the devices usable again after a failed kernel: as a new process, except that memory stays
/// allocated.
void clear_errors();

/// What the program did since the last reset_counters().
struct Counters {
  std::uint64_t launches = 0;
  std::uint64_t allocations = 0;
  std::uint64_t copies_to_host = 0;
  std::uint64_t copies_to_device = 0;
  std::uint64_t synchronizations = 0;  // calls that made the host wait
  std::uint64_t graph_launches = 0;
};
Counters counters();
void reset_counters();

}  // namespace simt::control
