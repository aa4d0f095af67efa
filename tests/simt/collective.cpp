// Collectives of a warp: arrival, checks, results, and what is said of threads that wait forever.

#include <cstdio>
#include <cstring>

#include "engine.h"
#include "sanitizer.h"

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

bool is_same(Location a, Location b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::uint64_t Engine::collective(WarpOp op, unsigned mask, const WarpRequest& request, Location where) {
  Thread& thread = *current_;
  thread.op = op;
  thread.mask = mask;
  thread.request = request;
  thread.where = where;
  Warp& warp = warps_[thread.number / kWarpThreads];
  check_collective(thread, warp);

  // Tags in turn, as for barriers.
  void* const tag = &warp.tags[warp.generation % 2];
  sanitizer::release(tag);
  const unsigned lane = 1u << (thread.number % kWarpThreads);
  warp.waiting |= lane;
  warp.wanted |= mask;
  if ((warp.waiting & mask) == mask) {
    Thread* const lanes = lanes_of(thread);
    // The function of a warp instruction reads and writes what other lanes own.
    if (op == WarpOp::kCustom) sanitizer::acquire(tag);
    complete_collective(op, mask, lanes);
    if (op == WarpOp::kCustom) sanitizer::release(tag);
    ++warp.generation;
    warp.waiting &= ~mask;
    warp.wanted = 0;
    for (unsigned rest = warp.waiting; rest != 0; rest &= rest - 1) {
      warp.wanted |= lanes[__builtin_ctz(rest)].mask;
    }
    const int first = thread.number / kWarpThreads * kWarpThreads;
    if (order_mode_ == control::Order::kReverse) {
      for (unsigned rest = mask & ~lane; rest != 0; rest &= ~(0x80000000u >> __builtin_clz(rest))) {
        make_ready(first + 31 - __builtin_clz(rest));
      }
    } else {
      for (unsigned rest = mask & ~lane; rest != 0; rest &= rest - 1) make_ready(first + __builtin_ctz(rest));
    }
  } else {
    park(thread, State::kInWarp);
  }
  sanitizer::acquire(tag);
  return thread.result;
}

void Engine::check_collective(const Thread& thread, const Warp& warp) {
  const char* name = name_of(thread.op);
  const unsigned mask = thread.mask;
  const Location where = thread.where;
  const int lane = thread.number % kWarpThreads;
  if ((mask >> lane & 1u) == 0) {
    fail("%s at %s:%d: the mask 0x%08x does not have the caller, lane %d", name, where.file, where.line, mask,
         lane);
  }
  if ((mask & ~warp.present) != 0) {
    fail("%s at %s:%d: the mask 0x%08x names lanes beyond the block (its warp has 0x%08x)", name, where.file,
         where.line, mask, warp.present);
  }
  if ((mask & warp.exited) != 0) {
    fail("%s at %s:%d: the mask 0x%08x names lanes 0x%08x, which have ended", name, where.file, where.line,
         mask, mask & warp.exited);
  }
  const int width = thread.request.width;
  if (is_shuffle(thread.op) && (width < 1 || width > kWarpThreads || (width & (width - 1)) != 0)) {
    fail("%s at %s:%d: width %d is not a power of two up to 32", name, where.file, where.line, width);
  }
  const unsigned others = warp.waiting & mask;
  if (others == 0) return;
  // One of the others stands for all of them, as each was compared when it came.
  const Thread& other = lanes_of(thread)[__builtin_ctz(others)];
  if (other.op != thread.op || other.mask != mask || !is_same(other.where, where) ||
      other.request.function != thread.request.function) {
    fail("%s(mask 0x%08x) at %s:%d by lane %d, but lane %d waits in %s(mask 0x%08x) at %s:%d", name, mask,
         where.file, where.line, lane, __builtin_ctz(others), name_of(other.op), other.mask, other.where.file,
         other.where.line);
  }
}

void Engine::fail_missing_lane(const Thread& leaving) {
  const unsigned lane = 1u << (leaving.number % kWarpThreads);
  const Thread* lanes = lanes_of(leaving);
  for (unsigned rest = warps_[leaving.number / kWarpThreads].waiting; rest != 0; rest &= rest - 1) {
    const Thread& other = lanes[__builtin_ctz(rest)];
    if ((other.mask & lane) == 0) continue;
    fail("the thread, lane %d, ends while lane %d waits for it in %s(mask 0x%08x) at %s:%d",
         leaving.number % kWarpThreads, __builtin_ctz(rest), name_of(other.op), other.mask, other.where.file,
         other.where.line);
  }
  fail("the thread ends while its warp waits for it");
}

void Engine::complete_shuffle(WarpOp op, unsigned mask, Thread* lanes) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    Thread& thread = lanes[lane];
    const int width = thread.request.width;
    const int argument = thread.request.argument;
    const int first = lane & ~(width - 1);
    const int last = first + width - 1;
    int source = 0;
    switch (op) {
      case WarpOp::kShuffle:
        source = first + (argument & (width - 1));
        break;
      case WarpOp::kShuffleUp:
        source = lane - (argument & 31);
        if (source < first) source = lane;
        break;
      case WarpOp::kShuffleDown:
        source = lane + (argument & 31);
        if (source > last) source = lane;
        break;
      default:
        source = lane ^ (argument & 31);
        if (source > last) source = lane;
        break;
    }
    // What a lane outside the mask holds is undefined: NaN.
    thread.result = (mask >> source & 1u) != 0 ? lanes[source].request.value : ~std::uint64_t{0};
  }
}

/// Stores what each lane of `mask` gets.
void Engine::complete_collective(WarpOp op, unsigned mask, Thread* lanes) {
  if (is_shuffle(op)) {
    complete_shuffle(op, mask, lanes);
    return;
  }
  if (op == WarpOp::kCustom) {
    void* payload[kWarpThreads] = {};
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      payload[__builtin_ctz(rest)] = lanes[__builtin_ctz(rest)].request.payload;
    }
    lanes[__builtin_ctz(mask)].request.function(payload, mask);
    return;
  }

  const auto same_as = [&](std::uint64_t value) {
    unsigned same = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      if (lanes[lane].request.value == value) same |= 1u << lane;
    }
    return same;
  };
  const std::uint64_t first = lanes[__builtin_ctz(mask)].request.value;
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
        thread.result = same_as(thread.request.value);
      }
      return;
    case WarpOp::kMatchAll:
      result = same_as(first) == mask ? mask : 0;
      break;
    default: {
      auto total = static_cast<std::uint32_t>(first);
      for (unsigned rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        const auto value = static_cast<std::uint32_t>(lanes[__builtin_ctz(rest)].request.value);
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
  if (current_ == nullptr) return used;
  return used + std::snprintf(text + used, size - static_cast<std::size_t>(used),
                              " thread (%u,%u,%u): ", current_->index.x, current_->index.y,
                              current_->index.z);
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
        if (states_[candidate.number] != states_[number] || !is_same(candidate.where, thread.where)) continue;
        if (in_warp && (candidate.op != thread.op || candidate.mask != thread.mask)) continue;
        group |= 1u << other;
      }
      seen |= group;
      if (in_warp) {
        std::snprintf(line, sizeof(line), "\n  warp %d lanes 0x%08x wait in %s(mask 0x%08x) at %s:%d", warp,
                      group, name_of(thread.op), thread.mask, thread.where.file, thread.where.line);
      } else {
        std::snprintf(line, sizeof(line), "\n  warp %d lanes 0x%08x wait in __syncthreads at %s:%d", warp,
                      group, thread.where.file, thread.where.line);
      }
      text += line;
    }
  }
  return text;
}

}  // namespace simt
