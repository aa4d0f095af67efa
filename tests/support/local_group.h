#pragma once

// Ranks that are threads of one process.

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "halftone/distributed/queued_group.h"

namespace halftone::test {

/// Where the ranks of a LocalGroup meet.
class MeetingPlace {
 public:
  explicit MeetingPlace(int ranks) : ranks(ranks), data(static_cast<std::size_t>(ranks)) {}

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == ranks) {
      here_ = 0;
      ++round_;
      everyone_.notify_all();
    } else {
      everyone_.wait(lock, [&] { return round_ != round; });
    }
  }

  const int ranks;
  std::vector<void*> data;  // what each rank brought

 private:
  std::mutex mutex_;
  std::condition_variable everyone_;
  int here_ = 0, round_ = 0;
};

class LocalGroup final : public distributed::QueuedGroup {
 public:
  LocalGroup(std::shared_ptr<MeetingPlace> place, int rank) : place_(std::move(place)) {
    set_place(rank, place_->ranks);
  }

 private:
  template <class T>
  void sum_numbers(T* own, std::int64_t count) {
    bring(own);
    std::vector<T> parts;
    for (void* data : place_->data) {
      parts.insert(parts.end(), static_cast<T*>(data), static_cast<T*>(data) + count);
    }
    distributed::add_in_rank_order(parts.data(), count, size());
    place_->wait_for_all();
    std::copy(parts.begin(), parts.begin() + count, own);
  }
  void bring(void* own) {
    place_->wait_for_all();
    place_->data[static_cast<std::size_t>(rank())] = own;
    place_->wait_for_all();
  }

  void sum(float* data, std::int64_t count) override { sum_numbers(data, count); }
  void sum(double* data, std::int64_t count) override { sum_numbers(data, count); }
  void send_from(int root, void* data, std::size_t bytes) override {
    bring(data);
    if (rank() != root) std::memcpy(data, place_->data[static_cast<std::size_t>(root)], bytes);
    place_->wait_for_all();
  }
  void meet() override { place_->wait_for_all(); }
  bool any_of(bool mine) override {
    double votes = mine;
    sum(&votes, 1);
    return votes > 0;
  }

  std::shared_ptr<MeetingPlace> place_;
};

/// Runs `program(group)` on so many ranks. Throws what a rank throws; every rank has to fail then.
inline void on_ranks(int ranks,
                     const std::function<void(std::shared_ptr<distributed::ProcessGroup>)>& program) {
  const auto place = std::make_shared<MeetingPlace>(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        program(std::make_shared<LocalGroup>(place, rank));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace halftone::test
