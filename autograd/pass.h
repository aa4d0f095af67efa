#pragma once

#include <functional>

#include "halftone/autograd/node.h"

// What those who follow a backward pass need: data parallel training, above all.
namespace halftone::autograd {

/// `hook` runs after a backward pass has added to the leaf's gradient: once per pass, as soon as all that the
/// pass adds is there. (Leaves without a hook are served at the end of the pass.) It stays for the tensor's
/// life.
void add_post_accumulate_hook(const Tensor& leaf, std::function<void()> hook);

/// From within a backward pass: when the outermost pass on this thread ends, `done` runs, or `failed` if it
/// threw.
void queue_callback(std::function<void()> done, std::function<void()> failed = {});

/// True in a pass that runs within another, as checkpoint() does: it may be one of several that reach a leaf.
bool backward_is_nested();

}  // namespace halftone::autograd
