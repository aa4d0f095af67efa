// Data parallel training: sums in rank order, buckets that start while backward runs, decisions made
// together. Ranks are threads here; examples/data_parallel runs as processes.

#include <cstring>

#include <catch2/catch.hpp>

#include "halftone/autograd/checkpoint.h"
#include "halftone/autograd/pass.h"
#include "halftone/distributed/distributed.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/local_group.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using distributed::DataParallel;
using distributed::DataParallelOptions;
using Group = std::shared_ptr<distributed::ProcessGroup>;

namespace {

nn::Sequential small_model() {
  return nn::Sequential(nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 16), nn::Tanh(), nn::Linear(16, 2));
}

nn::Sequential copy_of(const nn::Sequential& model) {
  nn::Sequential copy = small_model();
  NoGradGuard no_grad;
  for (std::size_t i = 0; i < copy->parameters().size(); ++i)
    copy->parameters()[i].copy_(model->parameters()[i]);
  return copy;
}

/// Rank `rank`'s part of the data of step `step`.
Tensor part(int step, int rank) {
  return randn({6, 4}, Generator(static_cast<std::uint64_t>(100 * step + rank)), TensorOptions(kFloat));
}

Tensor loss_of(nn::Sequential& model, const Tensor& x) { return model->forward(x).pow(2).mean(); }

/// Catch2's assertions are for one thread: what a rank finds is told apart afterwards.
struct Found {
  std::vector<Tensor> weights;
  std::vector<double> numbers;
};

}  // namespace

TEST_CASE("sums have the same bits on every rank, in rank order") {
  std::vector<Tensor> brought, sums(3), doubles(3), received(3);
  std::vector<int> votes(3);
  for (int rank = 0; rank < 3; ++rank)
    brought.push_back(randn({1001}, Generator(7 + static_cast<std::uint64_t>(rank))));
  on_ranks(3, [&](const Group& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    sums[rank] = brought[rank].clone();
    doubles[rank] = full({2}, 1.0 + static_cast<double>(rank), TensorOptions(kDouble));
    const auto first = group->all_reduce(sums[rank]), second = group->all_reduce(doubles[rank]);
    group->all_reduce(empty({0}))->wait();
    second->wait();
    first->wait();
    received[rank] = full({3}, static_cast<double>(rank));
    group->broadcast(received[rank], 1);
    group->barrier();
    votes[rank] = group->any(rank == 2) + 2 * group->any(false);
  });
  const Tensor expected = (brought[0] + brought[1]) + brought[2];
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(same_bits(sums[rank], expected));
    CHECK(values(doubles[rank]) == List{6, 6});
    CHECK(values(received[rank]) == List{1, 1, 1});
    CHECK(votes[rank] == 1);
  }
}

TEST_CASE("what a group refuses") {
  on_ranks(1, [](const Group& group) {
    CHECK(contains(error_of([&] { group->all_reduce(ones({2}, kHalf)); }), "float32"));
    CHECK(contains(error_of([&] { group->all_reduce(ones({2, 3}).t()); }), "contiguous"));
    CHECK(contains(error_of([&] { group->broadcast(ones({2}), 1); }), "root"));
    nn::Sequential model = small_model();
    CHECK(contains(error_of([&] { DataParallel(model, nullptr); }), "null"));
    CHECK(contains(error_of([&] { DataParallel(model, group, DataParallelOptions().bucket_bytes(0)); }),
                   "bucket_bytes"));
  });
  CHECK(contains(error_of([] { autograd::queue_callback([] {}); }), "no backward pass"));
  CHECK(contains(error_of([] { autograd::add_post_accumulate_hook(ones({1}), [] {}); }), "requires grad"));
}

TEST_CASE("ranks train to the bits of one process that accumulates their parts") {
  for (const int ranks : {1, 2, 4}) {
    for (const std::int64_t bucket : {1, 1000, 1 << 20}) {
      INFO(ranks << " ranks, buckets of " << bucket << " bytes");
      manual_seed(3);
      const nn::Sequential start = small_model();
      nn::Sequential alone = copy_of(start);
      optim::AdamW reference(alone->parameters(), optim::AdamWOptions(0.01));
      for (int step = 0; step < 4; ++step) {
        reference.zero_grad();
        for (int rank = 0; rank < ranks; ++rank) loss_of(alone, part(step, rank)).backward();
        NoGradGuard no_grad;
        for (const Tensor& parameter : alone->parameters()) parameter.mutable_grad().mul_(1.0 / ranks);
        reference.step();
      }
      std::vector<nn::Sequential> models;
      for (int rank = 0; rank < ranks; ++rank) models.push_back(rank == 0 ? copy_of(start) : small_model());
      std::vector<std::size_t> buckets(static_cast<std::size_t>(ranks)), overlapped(buckets);
      on_ranks(ranks, [&](const Group& group) {
        const auto rank = static_cast<std::size_t>(group->rank());
        nn::Sequential& model = models[rank];
        DataParallel parallel(model, group,
                              DataParallelOptions().bucket_bytes(bucket).first_bucket_bytes(bucket));
        optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(0.01));
        for (int step = 0; step < 4; ++step) {
          optimizer.zero_grad();
          loss_of(model, part(step, group->rank())).backward();
          optimizer.step();
        }
        buckets[rank] = parallel.bucket_count();
        overlapped[rank] = parallel.overlapped_buckets();
      });
      for (std::size_t rank = 0; rank < models.size(); ++rank) {
        for (std::size_t i = 0; i < alone->parameters().size(); ++i) {
          CHECK(same_bits(models[rank]->parameters()[i], alone->parameters()[i]));
        }
        CHECK(buckets[rank] == (bucket == 1 ? 6u : bucket == 1000 ? 2u : 1u));
        CHECK(overlapped[rank] == buckets[rank]);
      }
    }
  }
}

TEST_CASE("no_sync accumulates alone, and the next backward sums everything") {
  std::vector<Tensor> weights, gradients(2), lonely(2);
  for (int rank = 0; rank < 2; ++rank) weights.push_back(zeros({1}).requires_grad_());
  on_ranks(2, [&](const Group& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    struct Net : nn::Module {
      explicit Net(Tensor weight) : w(register_parameter("w", std::move(weight))) {}
      Tensor w;
    } net(weights[rank]);
    DataParallel parallel(net, group);
    {
      const auto guard = parallel.no_sync();
      (net.w * (1.0 + static_cast<double>(rank))).sum().backward();
      lonely[rank] = net.w.grad().clone();
    }
    (net.w * 10).sum().backward();
    gradients[rank] = net.w.grad().clone();
  });
  CHECK(values(lonely[0]) == List{1});
  CHECK(values(lonely[1]) == List{2});
  for (const Tensor& gradient : gradients) CHECK(values(gradient) == List{11.5});
}

TEST_CASE("parameters that a rank does not use") {
  std::vector<std::vector<Tensor>> gradients(2);
  on_ranks(2, [&](const Group& group) {
    struct Net : nn::Module {
      Net() {
        both = register_parameter("both", ones({2}));
        one = register_parameter("one", ones({2}));
        none = register_parameter("none", ones({2}));
      }
      Tensor both, one, none;
    } net;
    DataParallel parallel(net, group);
    optim::SGD optimizer(net.parameters(), 1.0);
    optimizer.use_loss_scaling(amp::LossScaling::fixed(8));
    parallel.attach(optimizer);
    Tensor loss = net.both.sum();
    if (group->rank() == 1) loss = loss + net.one.sum();
    optimizer.backward(loss);
    optimizer.step();  // unscales what came from the other rank, too
    gradients[static_cast<std::size_t>(group->rank())] = {net.both.detach(), net.one.detach(),
                                                          net.none.detach(), net.none.grad()};
  });
  for (const auto& found : gradients) {
    CHECK(values(found[0]) == List{0, 0});
    CHECK(values(found[1]) == List{0.5, 0.5});
    CHECK(values(found[2]) == List{1, 1});
    CHECK_FALSE(found[3].defined());
  }
}

TEST_CASE("one rank's infinity makes all ranks skip and halve") {
  for (const bool sums : {true, false}) {  // the flag is shared also where gradients are not
    std::vector<Found> found(2);
    on_ranks(2, [&](const Group& group) {
      Tensor w = ones({2}).requires_grad_();
      struct Net : nn::Module {
        explicit Net(Tensor weight) { register_parameter("w", std::move(weight)); }
      } net(w);
      DataParallel parallel(net, group);
      optim::SGD optimizer({w}, 0.5);
      optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
      parallel.attach(optimizer);
      Found& own = found[static_cast<std::size_t>(group->rank())];
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        const double factor = step == 1 && group->rank() == 1 ? kInfinity : 1.0;
        if (sums) {
          optimizer.backward((w * factor).sum());
        } else {
          const auto guard = parallel.no_sync();
          optimizer.backward((w * factor).sum());
        }
        own.numbers.push_back(optimizer.step().applied());
        own.numbers.push_back(optimizer.loss_scale());
        own.weights.push_back(w.detach().clone());
      }
    });
    for (const Found& own : found) {
      CHECK(own.numbers == List{1, 1024, 0, 512, 1, 512});
      CHECK(values(own.weights[0]) == List{0.5, 0.5});
      CHECK(values(own.weights[1]) == List{0.5, 0.5});
      CHECK(values(own.weights[2]) == List{0, 0});
    }
  }
}

TEST_CASE("half parameters: masters and fp32 gradients") {
  std::vector<Tensor> weights(2), masters(2);
  on_ranks(2, [&](const Group& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    struct Net : nn::Module {
      Net() { w = register_parameter("w", ones({3}, kBFloat16)); }
      Tensor w;
    } net;
    DataParallel parallel(net, group);
    optim::SGD optimizer(net.parameters(), 1e-3);
    optimizer.backward((net.w.to(kFloat) * (1.0 + static_cast<double>(rank))).sum());
    optimizer.step();
    weights[rank] = net.w.detach();
    masters[rank] = optimizer.state_dict().tensor("state.0.master");
  });
  CHECK(values(masters[0])[0] == Approx(1 - 1.5e-3));
  CHECK(same_bits(masters[0], masters[1]));
  CHECK(same_bits(weights[0], weights[1]));
}

TEST_CASE("a hooked leaf is served once per pass, as soon as it is complete") {
  Tensor first = ones({2}).requires_grad_(), last = ones({2}).requires_grad_(),
         plain = ones({2}).requires_grad_();
  std::vector<std::string> events;
  autograd::add_post_accumulate_hook(
      last, [&] { events.push_back("last " + std::to_string(last.grad()[0].item<double>()).substr(0, 1)); });
  autograd::add_post_accumulate_hook(first, [&] { events.push_back("first"); });
  const auto run = [&] {
    const Tensor a = first * plain;
    const Tensor b = a * 2;
    b.register_hook([&](Tensor gradient) {
      events.push_back("between");
      return gradient;
    });
    (b * last + last * 3 + last * last).sum().backward();  // three users of `last`
  };
  run();
  CHECK(events == std::vector<std::string>{"last 7", "between", "first"});
  CHECK(values(plain.grad()) == List{2, 2});
  events.clear();
  first.mutable_grad() = last.mutable_grad() = Tensor();
  run();  // the same in a second graph
  CHECK(events == std::vector<std::string>{"last 7", "between", "first"});

  int ended = 0, failed = 0;
  Tensor w = ones({1}).requires_grad_();
  autograd::add_post_accumulate_hook(w, [&] {
    autograd::queue_callback([&] { ++ended; }, [&] { ++failed; });
    if (ended == 1) throw Error("hook", "stop");
  });
  (w * 2).sum().backward();
  CHECK(ended == 1);
  CHECK(contains(error_of([&] { (w * 2).sum().backward(); }), "stop"));
  CHECK(ended == 1);
  CHECK(failed == 1);
  (first * 2).sum().backward();  // nothing is left over
  CHECK(ended == 1);
}

TEST_CASE("parts that checkpoint() recomputes are summed at the end") {
  std::vector<Tensor> gradients(2);
  on_ranks(2, [&](const Group& group) {
    struct Net : nn::Module {
      Net() { w = register_parameter("w", ones({2})); }
      Tensor w;
    } net;
    DataParallel parallel(net, group);
    const Tensor x = full({2}, 1.0 + group->rank()).requires_grad_();
    const auto segment = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * net.w}; };
    Tensor y = autograd::checkpoint(segment, {x})[0];
    y = autograd::checkpoint(segment, {y})[0];  // the same weight in two segments
    y.sum().backward();
    gradients[static_cast<std::size_t>(group->rank())] = net.w.grad().clone();
  });
  for (const Tensor& gradient : gradients) CHECK(values(gradient) == List{3, 3});
}
