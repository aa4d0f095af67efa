// REINFORCE on the cart-pole: a policy learns to balance a pole from nothing but how long it stood (Williams
// 1992; dynamics of Barto, Sutton and Anderson 1983).

#include <array>
#include <cmath>
#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;

namespace {

/// A pole hinged on a cart that is pushed left or right, fifty times a second.
class CartPole {
 public:
  static constexpr int kMaxSteps = 200;

  explicit CartPole(std::uint64_t seed) : generator_(seed) {}

  void reset() {
    const ht::Tensor start = ht::rand({4}, generator_) * 0.1 - 0.05;
    for (int i = 0; i < 4; ++i) state_[static_cast<std::size_t>(i)] = start[i].item<double>();
  }

  /// Position, speed, angle and angular speed.
  ht::Tensor state() const {
    return ht::tensor({state_[0], state_[1], state_[2], state_[3]}).to(ht::kFloat).unsqueeze(0);
  }

  /// Pushes; false when the pole has fallen or the cart has left the track.
  bool push_right(bool right) {
    constexpr double kGravity = 9.8, kPole = 0.1, kTotal = 1.1, kHalfLength = 0.5, kForce = 10, kTime = 0.02;
    auto& [x, speed, angle, turning] = state_;
    const double force = right ? kForce : -kForce;
    const double push = (force + kPole * kHalfLength * turning * turning * std::sin(angle)) / kTotal;
    const double cos = std::cos(angle);
    const double angular =
        (kGravity * std::sin(angle) - cos * push) / (kHalfLength * (4.0 / 3.0 - kPole * cos * cos / kTotal));
    const double acceleration = push - kPole * kHalfLength * angular * cos / kTotal;
    x += kTime * speed;
    speed += kTime * acceleration;
    angle += kTime * turning;
    turning += kTime * angular;
    return std::abs(x) < 2.4 && std::abs(angle) < 0.2095;
  }

 private:
  ht::Generator generator_;
  std::array<double, 4> state_{};
};

/// What followed each step, discounted, with mean 0 and deviation 1.
ht::Tensor returns(std::size_t steps) {
  constexpr double kDiscount = 0.99;
  std::vector<float> values(steps);
  double sum = 0;
  for (std::size_t i = steps; i-- > 0;) values[i] = static_cast<float>(sum = 1 + kDiscount * sum);
  const ht::Tensor all = ht::tensor(values);
  return (all - all.mean()) / (all.std() + 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments =
      parse_arguments(argc, argv, "Learns to balance a pole on a cart.", {.steps = 400, .lr = 1e-2});
  nn::Sequential policy(nn::Linear(4, 64), nn::ReLU(), nn::Linear(64, 2));
  policy->to(arguments.device);
  ht::optim::Adam optimizer(policy->parameters(), ht::optim::AdamOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  CartPole world(arguments.seed);
  double average = 10;
  for (std::int64_t episode = 1; episode <= arguments.steps && average < 190; ++episode) {
    std::vector<ht::Tensor> log_probabilities;
    world.reset();
    for (bool standing = true; standing && log_probabilities.size() < CartPole::kMaxSteps;) {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      const ht::Tensor log_p =
          nn::functional::log_softmax(policy->forward(world.state().to(arguments.device)), 1);
      const auto action = ht::multinomial(log_p.detach().exp(), 1).item<std::int64_t>();
      log_probabilities.push_back(log_p[0][action]);
      standing = world.push_right(action == 1);
    }
    const ht::Tensor loss =
        -(ht::stack(log_probabilities) * returns(log_probabilities.size()).to(arguments.device)).sum();
    optimizer.zero_grad();
    optimizer.backward(loss);
    optimizer.step();
    average = 0.95 * average + 0.05 * static_cast<double>(log_probabilities.size());
    if (episode % 50 == 0) {
      std::printf("episode %3lld: stood %3zu steps, %.0f on average\n", static_cast<long long>(episode),
                  log_probabilities.size(), average);
    }
  }
  std::printf("balances %.0f of %d steps on average\n", average, CartPole::kMaxSteps);
  return average > 50 ? 0 : 1;
}
