#include "halftone/distributed/mpi_process_group.h"

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "halftone/distributed/queued_group.h"

namespace halftone::distributed {
namespace {

void check(const char* call, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI", call, ": ", std::string_view(text, static_cast<std::size_t>(length)));
}

template <class T>
MPI_Datatype type_of();
template <>
MPI_Datatype type_of<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype type_of<double>() {
  return MPI_DOUBLE;
}

/// All calls come from the group's own thread.
class MpiGroup final : public QueuedGroup {
 public:
  MpiGroup() {
    int rank = 0, size = 1;
    run([&] {
      start();
      check("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &world_));
      check("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
      check("MPI_Comm_rank", MPI_Comm_rank(world_, &rank));
      check("MPI_Comm_size", MPI_Comm_size(world_, &size));
    });
    set_place(rank, size);
  }

  ~MpiGroup() override {
    const bool is_failing = std::uncaught_exceptions() > 0;
    try {
      run([this, is_failing] {
        int is_over = 0;
        MPI_Finalized(&is_over);
        if (is_over) return;
        // The others may wait for this rank, which is on its way out of the program.
        if (is_failing) MPI_Abort(world_, 1);
        MPI_Comm_free(&world_);
        if (is_ours_) MPI_Finalize();
      });
    } catch (...) {  // nothing to be done about it here
    }
  }

 private:
  void start() {
    int is_over = 0, is_started = 0, threads = 0;
    check("MPI_Finalized", MPI_Finalized(&is_over));
    if (is_over) fail("MPI", "it was ended already, and cannot be started again");
    check("MPI_Initialized", MPI_Initialized(&is_started));
    if (!is_started) {
      check("MPI_Init_thread", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads));
      is_ours_ = true;
      return;
    }
    check("MPI_Query_thread", MPI_Query_thread(&threads));
    if (threads < MPI_THREAD_SERIALIZED)
      fail("MPI", "it was initialised for one thread; use MPI_Init_thread with MPI_THREAD_SERIALIZED");
  }

  /// Every rank adds its slice of all ranks' numbers in rank order, and the slices are handed round: MPI_Allreduce
  /// adds in an order of its own.
  template <class T>
  void sum_numbers(T* data, std::int64_t count) {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;  // per slice, so that counts fit an int
    const std::int64_t ranks = size();
    for (std::int64_t begin = 0; begin < count; begin += kMost * ranks) {
      const std::int64_t n = std::min(kMost * ranks, count - begin), slice = (n + ranks - 1) / ranks;
      std::vector<T> mine(static_cast<std::size_t>(slice * ranks)), parts(mine.size());
      std::copy(data + begin, data + begin + n, mine.begin());
      const int part = static_cast<int>(slice);
      check("MPI_Alltoall", MPI_Alltoall(mine.data(), part, type_of<T>(), parts.data(), part, type_of<T>(), world_));
      add_in_rank_order(parts.data(), slice, size());
      check("MPI_Allgather",
            MPI_Allgather(parts.data(), part, type_of<T>(), mine.data(), part, type_of<T>(), world_));
      std::copy(mine.begin(), mine.begin() + n, data + begin);
    }
  }

  void sum(float* data, std::int64_t count) override { sum_numbers(data, count); }
  void sum(double* data, std::int64_t count) override { sum_numbers(data, count); }

  void send_from(int root, void* data, std::size_t bytes) override {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t begin = 0; begin < bytes; begin += kMost) {
      const auto piece = static_cast<int>(std::min(kMost, bytes - begin));
      check("MPI_Bcast", MPI_Bcast(static_cast<std::byte*>(data) + begin, piece, MPI_BYTE, root, world_));
    }
  }

  void meet() override { check("MPI_Barrier", MPI_Barrier(world_)); }

  bool any_of(bool mine) override {
    int in = mine, out = 0;
    check("MPI_Allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_LOR, world_));
    return out != 0;
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  bool is_ours_ = false;
};

}  // namespace

std::shared_ptr<ProcessGroup> mpi_process_group() {
  static std::weak_ptr<ProcessGroup> known;
  std::shared_ptr<ProcessGroup> group = known.lock();
  if (!group) known = group = std::make_shared<MpiGroup>();
  return group;
}

}  // namespace halftone::distributed
