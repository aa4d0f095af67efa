#pragma once

#include "halftone/halftone.h"

// The model whose gradients chapter 2 looks at.

/// A small model of text: eight characters in, the scores of the next one out.
struct ReaderImpl : halftone::nn::Module {
  explicit ReaderImpl(std::int64_t characters)
      : embed(characters, 16), hidden(8 * 16, 64), out(64, characters) {
    register_module("embed", embed);
    register_module("hidden", hidden);
    register_module("out", out);
  }
  halftone::Tensor forward(const halftone::Tensor& text) {
    before_tanh = hidden->forward(embed->forward(text).flatten(1));
    if (before_tanh.requires_grad()) before_tanh.retain_grad();
    return out->forward(tanh(before_tanh));
  }
  halftone::nn::Embedding embed;
  halftone::nn::Linear hidden, out;
  halftone::Tensor before_tanh;  // of the last call: its gradient is an activation's
};
HALFTONE_MODULE(Reader);

/// The reader after 50 steps of training in float64. Run from the root of the tree, where the text is.
struct TrainedReader {
  halftone::data::CharTokenizer tokenizer{halftone::data::read_text("examples/data/opticks.txt")};
  halftone::Tensor text = tokenizer.encode(halftone::data::read_text("examples/data/opticks.txt"));
  Reader reader{nullptr};

  TrainedReader() {
    halftone::manual_seed(3);
    reader = Reader(tokenizer.size());
    reader->to(halftone::kDouble);
    halftone::optim::Adam optimizer(reader->parameters(), halftone::optim::AdamOptions(3e-3));
    for (int step = 0; step < 50; ++step) {
      optimizer.zero_grad();
      loss(256).backward();
      optimizer.step();
    }
  }

  /// The mean over `count` characters from random places.
  halftone::Tensor loss(std::int64_t count) {
    const halftone::Tensor places =
        halftone::randint(text.size(0) - 9, {count, 1}, halftone::kLong) + halftone::arange(9);
    const halftone::Tensor pieces = text.index_select(0, places.flatten()).view({count, 9});
    return halftone::nn::functional::cross_entropy(reader->forward(pieces.slice(1, 0, 8)),
                                                   pieces.select(1, 8));
  }
};
