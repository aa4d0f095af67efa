#pragma once

namespace halftone::optim {

/// A number that an operator on the device computes, read where it is used: converts to double.
class DeferredScalar {
 public:
  explicit DeferredScalar(double value = 0) : value_(value) {}
  double item() const { return value_; }
  operator double() const { return item(); }

 private:
  double value_;
};

}  // namespace halftone::optim
