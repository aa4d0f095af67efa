// Collectives of a warp: arrival, checks, results, and what is said of threads that wait forever.

#include <cstdio>
#include <cstring>

#include "halftone/tests/simt/engine.h"
#include "halftone/tests/simt/sanitizer.h"

namespace simt {
namespace {

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::kShuffle:
      return "__shfl_sync";
    case WarpOp::kShuffleUp:
      return "__shfl_up_sync";
    case WarpOp::kShuffleDown:
      return "__shfl_down_sync";
    case WarpOp::kShuffleXor:
      return "__shfl_xor_sync";
    case WarpOp::kSync:
      return "__syncwarp";
    case WarpOp::kBallot:
      return "__ballot_sync";
    case WarpOp::kAny:
      return "__any_sync";
    case WarpOp::kAll:
      return "__all_sync";
    case WarpOp::kMatchAny:
      return "__match_any_sync";
    case WarpOp::kMatchAll:
      return "__match_all_sync";
    case WarpOp::kCustom:
      return "a warp instruction";
    default:
      return "__reduce_*_sync";
  }
}

bool is_shuffle(WarpOp op) { return op <= WarpOp::kShuffleXor; }

}  // namespace

/// Whether a collective may be as the lane asks for it. Quick, as it is asked at every arrival.
inline bool Engine::is_sound(const Thread& thread, const Warp& warp) const {
  const unsigned width = thread.argument >> 8;
  const bool is_width = width - 1 < kWarpThreads && (width & (width - 1)) == 0;
  const bool names_caller = (thread.mask >> (thread.number % kWarpThreads) & 1u) != 0;
  if (!is_width || !names_caller || (thread.mask & ~(warp.present & ~warp.exited)) != 0) return false;
  const unsigned others = warp.waiting & thread.mask;
  if (others == 0) return true;
  // One of the others stands for all of them, as each was compared when it came.
  const Thread& other = lanes_of(thread)[__builtin_ctz(others)];
  if (other.op != thread.op || other.mask != thread.mask || !is_same(other.where(), thread.where()))
    return false;
  return thread.op != WarpOp::kCustom || other.call().function == thread.call().function;
}

std::uint64_t Engine::collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument,
                                 Location where) {
  Thread& thread = *current_;
  thread.op = op;
  thread.mask = mask;
  thread.value = value;
  thread.argument = argument;
  thread.file = where.file;
  thread.line = where.line;
  Warp& warp = warps_[thread.number / kWarpThreads];
  if (!is_sound(thread, warp)) fail_collective(thread, warp);

  // Tags in turn, as for barriers.
  void* const tag = &warp.tags[warp.generation % 2];
  sanitizer::release(tag);
  warp.waiting |= 1u << (thread.number % kWarpThreads);
  warp.wanted |= mask;
  if ((warp.waiting & mask) == mask) {
    complete(thread, warp, tag);
  } else {
    states_[thread.number] = State::kInWarp;
    give_way();
  }
  sanitizer::acquire(tag);
  return thread.result;
}

/// The last lane is there: results for all, and all may go on.
void Engine::complete(const Thread& last, Warp& warp, void* tag) {
  const unsigned mask = last.mask;
  const int first = last.number / kWarpThreads * kWarpThreads;
  Thread* const lanes = &threads_[first];
  // The function of a warp instruction reads and writes what other lanes own.
  if (last.op == WarpOp::kCustom) sanitizer::acquire(tag);
  compute_results(last.op, mask, lanes);
  if (last.op == WarpOp::kCustom) sanitizer::release(tag);

  ++warp.generation;
  warp.waiting &= ~mask;
  warp.wanted = 0;
  for (unsigned rest = warp.waiting; rest != 0; rest &= rest - 1)
    warp.wanted |= lanes[__builtin_ctz(rest)].mask;

  // The one put first last runs first.
  unsigned rest = mask & ~(1u << (last.number % kWarpThreads));
  if (order_mode_ == control::Order::kReverse) {
    for (; rest != 0; rest &= rest - 1) make_ready_first(first + __builtin_ctz(rest));
  } else {
    while (rest != 0) {
      const int lane = kWarpThreads - 1 - __builtin_clz(rest);
      make_ready_first(first + lane);
      rest &= ~(1u << lane);
    }
  }
}

/// Says why the collective is not sound.
void Engine::fail_collective(const Thread& thread, const Warp& warp) {
  const char* name = name_of(thread.op);
  const unsigned mask = thread.mask;
  const int lane = thread.number % kWarpThreads;
  if ((mask >> lane & 1u) == 0) {
    fail("%s at %s:%d: the mask 0x%08x does not have the caller, lane %d", name, thread.file, thread.line,
         mask, lane);
  }
  if ((mask & ~warp.present) != 0) {
    fail("%s at %s:%d: the mask 0x%08x names lanes beyond the block (its warp has 0x%08x)", name, thread.file,
         thread.line, mask, warp.present);
  }
  if ((mask & warp.exited) != 0) {
    fail("%s at %s:%d: the mask 0x%08x names lanes 0x%08x, which have ended", name, thread.file, thread.line,
         mask, mask & warp.exited);
  }
  const unsigned others = warp.waiting & mask;
  if (others != 0) {
    const Thread& other = lanes_of(thread)[__builtin_ctz(others)];
    if (other.op != thread.op || other.mask != mask || !is_same(other.where(), thread.where())) {
      fail("%s(mask 0x%08x) at %s:%d by lane %d, but lane %d waits in %s(mask 0x%08x) at %s:%d", name, mask,
           thread.file, thread.line, lane, __builtin_ctz(others), name_of(other.op), other.mask, other.file,
           other.line);
    }
  }
  if (thread.op == WarpOp::kCustom) {
    fail("%s at %s:%d: the lanes bring different functions", name, thread.file, thread.line);
  }
  fail("%s at %s:%d: width %u is not a power of two up to 32", name, thread.file, thread.line,
       thread.argument >> 8);
}

void Engine::fail_missing_lane(const Thread& leaving) {
  const unsigned lane = 1u << (leaving.number % kWarpThreads);
  const Thread* lanes = lanes_of(leaving);
  for (unsigned rest = warps_[leaving.number / kWarpThreads].waiting; rest != 0; rest &= rest - 1) {
    const Thread& other = lanes[__builtin_ctz(rest)];
    if ((other.mask & lane) == 0) continue;
    fail("the thread, lane %d, ends while lane %d waits for it in %s(mask 0x%08x) at %s:%d",
         leaving.number % kWarpThreads, __builtin_ctz(rest), name_of(other.op), other.mask, other.file,
         other.line);
  }
  fail("the thread ends while its warp waits for it");
}

void Engine::compute_shuffle(WarpOp op, unsigned mask, Thread* lanes) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    Thread& thread = lanes[lane];
    const int width = static_cast<int>(thread.argument >> 8);
    const int argument = static_cast<int>(thread.argument & 31u);
    const int first = lane & ~(width - 1);
    const int last = first + width - 1;
    int source = 0;
    switch (op) {
      case WarpOp::kShuffle:
        source = first + (argument & (width - 1));
        break;
      case WarpOp::kShuffleUp:
        source = lane - argument;
        if (source < first) source = lane;
        break;
      case WarpOp::kShuffleDown:
        source = lane + argument;
        if (source > last) source = lane;
        break;
      default:
        source = lane ^ argument;
        if (source > last) source = lane;
        break;
    }
    // What a lane outside the mask holds is undefined: NaN.
    thread.result = (mask >> source & 1u) != 0 ? lanes[source].value : ~std::uint64_t{0};
  }
}

/// Stores what each lane of `mask` gets.
void Engine::compute_results(WarpOp op, unsigned mask, Thread* lanes) {
  if (is_shuffle(op)) {
    compute_shuffle(op, mask, lanes);
    return;
  }
  if (op == WarpOp::kCustom) {
    void* payload[kWarpThreads] = {};
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      payload[__builtin_ctz(rest)] = lanes[__builtin_ctz(rest)].call().payload;
    }
    lanes[__builtin_ctz(mask)].call().function(payload, mask);
    return;
  }

  const auto same_as = [&](std::uint64_t value) {
    unsigned same = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      if (lanes[lane].value == value) same |= 1u << lane;
    }
    return same;
  };
  const std::uint64_t first = lanes[__builtin_ctz(mask)].value;
  std::uint64_t result = 0;
  switch (op) {
    case WarpOp::kSync:
      return;
    case WarpOp::kBallot:
      result = same_as(1);
      break;
    case WarpOp::kAny:
      result = same_as(1) != 0 ? 1 : 0;
      break;
    case WarpOp::kAll:
      result = same_as(1) == mask ? 1 : 0;
      break;
    case WarpOp::kMatchAny:
      for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        Thread& thread = lanes[__builtin_ctz(rest)];
        thread.result = same_as(thread.value);
      }
      return;
    case WarpOp::kMatchAll:
      result = same_as(first) == mask ? mask : 0;
      break;
    default: {
      auto total = static_cast<std::uint32_t>(first);
      for (unsigned rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        const auto value = static_cast<std::uint32_t>(lanes[__builtin_ctz(rest)].value);
        const bool is_less = op == WarpOp::kReduceMinSigned || op == WarpOp::kReduceMaxSigned
                                 ? static_cast<std::int32_t>(value) < static_cast<std::int32_t>(total)
                                 : value < total;
        switch (op) {
          case WarpOp::kReduceAdd:
            total += value;
            break;
          case WarpOp::kReduceMinSigned:
          case WarpOp::kReduceMinUnsigned:
            total = is_less ? value : total;
            break;
          case WarpOp::kReduceMaxSigned:
          case WarpOp::kReduceMaxUnsigned:
            total = is_less ? total : value;
            break;
          case WarpOp::kReduceAnd:
            total &= value;
            break;
          case WarpOp::kReduceOr:
            total |= value;
            break;
          default:
            total ^= value;
            break;
        }
      }
      result = total;
    }
  }
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) lanes[__builtin_ctz(rest)].result = result;
}

int Engine::describe_thread(char* text, std::size_t size) const {
  static thread_local std::string name;  // not on a stack that is dropped
  name = kernel_name(grid_->kernel.signature);
  const int used = std::snprintf(text, size, "kernel %.512s block (%u,%u,%u)", name.c_str(), blockIdx.x,
                                 blockIdx.y, blockIdx.z);
  const uint3 place = current_ == nullptr ? uint3{} : indices_[current_->number];
  return used + std::snprintf(text + used, size - static_cast<std::size_t>(used),
                              " thread (%u,%u,%u): ", place.x, place.y, place.z);
}

std::string Engine::describe_thread() const {
  char text[1024];
  describe_thread(text, sizeof(text));
  return text;
}

std::string Engine::describe_deadlock() const {
  char line[512];
  std::snprintf(line, sizeof(line), "kernel %s block (%u,%u,%u): no thread can go on",
                kernel_name(grid_->kernel.signature).c_str(), blockIdx.x, blockIdx.y, blockIdx.z);
  std::string text = line;
  for (int warp = 0; warp < warp_count_; ++warp) {
    // Lanes that wait for the same make one line.
    unsigned seen = 0;
    for (int lane = 0; lane < kWarpThreads && warp * kWarpThreads + lane < count_; ++lane) {
      const int number = warp * kWarpThreads + lane;
      const Thread& thread = threads_[number];
      if ((seen >> lane & 1u) != 0 || states_[number] == State::kExited) continue;
      const bool in_warp = states_[number] == State::kInWarp;
      unsigned group = 0;
      for (int other = lane; other < kWarpThreads && warp * kWarpThreads + other < count_; ++other) {
        const Thread& candidate = threads_[warp * kWarpThreads + other];
        if (states_[candidate.number] != states_[number]) continue;
        if (in_warp && (!is_same(candidate.where(), thread.where()) || candidate.op != thread.op ||
                        candidate.mask != thread.mask))
          continue;
        group |= 1u << other;
      }
      seen |= group;
      if (in_warp) {
        std::snprintf(line, sizeof(line), "\n  warp %d lanes 0x%08x wait in %s(mask 0x%08x) at %s:%d", warp,
                      group, name_of(thread.op), thread.mask, thread.file, thread.line);
      } else {
        std::snprintf(line, sizeof(line), "\n  warp %d lanes 0x%08x wait in __syncthreads at %s:%d", warp,
                      group, barrier_where_.file, barrier_where_.line);
      }
      text += line;
    }
  }
  return text;
}

std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument,
                              Location where) {
  return Engine::running()->collective(op, mask, value, argument, where);
}

}  // namespace simt
