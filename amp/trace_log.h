#pragma once

// What a trace holds: plain structs, for programs that read it and for the pages and tables made of it.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "halftone/amp/policy.h"
#include "halftone/engine/tensor.h"

namespace halftone::amp {

/// Where in training something happened.
enum class TracePhase : std::uint8_t {
  kForward,   ///< outside every backward pass
  kBackward,  ///< inside one
  kStep,      ///< an optimizer's step
};

/// What kind of call a TraceOperator records.
enum class TraceKind : std::uint8_t {
  kOperator,
  kView,     ///< shares its first input's memory
  kInPlace,  ///< writes into its first input
  kNode,     ///< the backward of one recorded operator, around the operators of its gradient rule
  kStep,     ///< an optimizer's step
};

/// "forward", "backward", "step".
const char* phase_name(TracePhase phase);
/// "operator", "view", "in_place", "node", "step".
const char* kind_name(TraceKind kind);

/// A tensor that went into a call or came out of it.
struct TraceTensor {
  std::string name;           ///< if it is watched, or a parameter that an optimizer has a name for
  ScalarType dtype = kFloat;  ///< of its elements
  Dims sizes;                 ///< its shape
  std::int64_t made_by = -1;  ///< the call that wrote it last, with TraceOptions::keep_results
};

/// Memory of one dtype.
struct TraceBytes {
  ScalarType dtype = kFloat;  ///< whose
  std::int64_t bytes = 0;     ///< how much of it
};

/// One call of an operator, one node of a backward pass, or one optimizer step. Times are microseconds since
/// the trace began; what tracing itself costs is left out of them.
struct TraceOperator {
  std::string name;  ///< the operator's; of a node, that of the operator it differentiates; of a step, the
                     ///< optimizer's
  TraceKind kind = TraceKind::kOperator;    ///< what kind of call
  TracePhase phase = TracePhase::kForward;  ///< where in training
  /// Path of the module whose parameter it reads ("encoder.fc1"), or of the one whose backward it belongs to;
  /// empty when it reads none.
  std::string module;
  Precision declared = Precision::kAny;  ///< the operator's own policy
  Precision policy = Precision::kAny;    ///< the one in force; another one under a PolicyOverride
  bool autocast = false;                 ///< inside a region
  std::optional<ScalarType> cast_to;     ///< what autocast cast its inputs to
  std::vector<TraceTensor> inputs;       ///< as given, before casts
  std::vector<TraceTensor> outputs;      ///< its results
  double start = 0, time = 0;            ///< when it began, and how long it took
  double self = 0;                       ///< time without the calls inside
  std::int64_t parent = -1;              ///< the call inside which this one was made
  std::int64_t depth = 0;                ///< how many calls it is inside of
  std::int64_t step = 0;                 ///< optimizer steps before it
  bool failed = false;                   ///< it threw
  std::optional<double> number;          ///< a C++ number among its operands: the eps of x + eps
  /// It wrote into a parameter's gradient that was still multiplied by the loss scale.
  bool wrote_scaled_gradient = false;
  std::vector<TraceBytes> saved;  ///< kept for backward by it and not by an earlier one, without parameters
  /// Its results, with TraceOptions::keep_results; of a leaf's accumulate_grad, the gradient without the loss
  /// scale.
  std::vector<Tensor> values;
};

/// One cast that autocast inserted.
struct TraceCast {
  /// Where the low-precision value came from.
  enum class Source : std::uint8_t { kFresh, kCached, kShadow };

  std::int64_t op = -1;                            ///< the operator that needed it
  std::int64_t step = 0;                           ///< optimizer steps before it
  std::string tensor;                              ///< the name of what was cast, if it has one
  ScalarType from = kFloat, to = kHalf;            ///< dtypes before and after
  Source source = Source::kFresh;                  ///< where the value came from
  std::int64_t bytes_read = 0, bytes_written = 0;  ///< 0 unless fresh
  double time = 0;                                 ///< microseconds
};

/// "fresh", "cached", "shadow".
const char* source_name(TraceCast::Source source);

/// One iteration of a loss scale.
struct TraceScale {
  std::int64_t step = 0;                  ///< optimizer steps before it
  double before = 1, after = 1;           ///< the scale in this iteration and in the next
  bool skipped = false;                   ///< a gradient was infinite or NaN
  bool loss_nonfinite = false;            ///< the loss was, before it was scaled
  bool grew = false, backed_off = false;  ///< what happened to the scale at its end
  bool stalled = false;  ///< so many skips in a row with the scale at its floor that training stands still
};

/// A loss that was scaled for backward.
struct TraceLoss {
  std::int64_t step = 0;      ///< optimizer steps before it
  ScalarType dtype = kFloat;  ///< before scaling; the scaled one is never half
  double scale = 1;           ///< what it was multiplied by
};

/// One optimizer step.
struct TraceStep {
  std::int64_t step = 0;  ///< optimizer steps before it
  std::string optimizer;  ///< its class: "AdamW"
  /// What came of it, as StepReport tells.
  bool applied = false, skipped_nonfinite = false, no_gradients = false, stalled = false;
  double grad_norm = std::numeric_limits<double>::quiet_NaN();  ///< NaN where nobody needed it
  std::vector<std::string> overflowed;                          ///< parameters, where they have names
};

/// How large a tensor's elements are: counts per power of two, as stored (a gradient of a scaled loss: times
/// the scale).
struct ExponentHistogram {
  std::string name;           ///< the tensor's
  bool is_gradient = false;   ///< it is the gradient of the tensor of that name
  std::int64_t step = 0;      ///< optimizer steps before it
  ScalarType dtype = kFloat;  ///< the tensor's
  double scale = 1;           ///< what the values are multiplied by: the loss scale of a scaled gradient
  std::int64_t elements = 0;  ///< of the tensor
  std::int64_t zeros = 0, infinite = 0, nan = 0;  ///< elements that have no exponent
  /// As float16, these would be zero although they are not; below its normal range; beyond its largest value.
  std::int64_t flushed = 0, subnormal = 0, overflow = 0;
  double smallest = 0, largest = 0;  ///< magnitudes among the finite elements that are not zero; 0: none
  int first_exponent = 0;            ///< of counts[0]: elements with 2^e <= |x| < 2^(e + 1)
  std::vector<std::int64_t> counts;  ///< elements of each exponent, from first_exponent on

  /// Elements that float16 would hold as zero if the scale were `scale` (by the counts), of those not zero.
  double share_flushed_at(double scale) const;
  /// The largest power of two that leaves the largest element one doubling below float16's overflow; 0 when
  /// there is no element to go by.
  double suggested_scale() const;
};

/// The counts of `tensor`. Throws Error unless it is floating.
ExponentHistogram exponent_histogram(const Tensor& tensor, double scale = 1);

/// The first infinite or NaN value of a step. A mask of -inf (masked_fill) does not count.
struct TraceNonFinite {
  /// Where the value came from.
  enum class Origin : std::uint8_t {
    kComputed,   ///< the operator made it from finite inputs
    kInput,      ///< it was in a tensor that no traced operator made: data
    kParameter,  ///< it was in a watched tensor
  };

  std::int64_t step = 0;  ///< optimizer steps before it
  std::int64_t op = -1;   ///< the call, in TraceLog::operators; -1 when that was not recorded
  std::string name;       ///< the operator's
  TracePhase phase = TracePhase::kForward;  ///< where in training
  std::string node;                         ///< in a backward: the operator whose gradient was computed
  std::string module;                       ///< see TraceOperator
  std::string after;                        ///< where `module` is empty: the last module before it
  Origin origin = Origin::kComputed;        ///< where it came from
  std::string input;                        ///< the tensor's name where it was an input
  ScalarType dtype = kFloat;                ///< of the tensor that holds it
  Dims sizes;                               ///< of that tensor
  std::int64_t nan = 0, infinite = 0;       ///< elements
  double largest_input = 0;  ///< largest finite magnitude among the inputs; NaN for a write in place
  double scale = 1;          ///< of the last loss that was scaled before
  /// Whether the operator, computed again in fp32 from the same inputs, gives infinity or NaN too. Empty
  /// where that cannot be known: a write in place, or no operator made it.
  std::optional<bool> fp32_too;

  /// One sentence for people.
  std::string str() const;
};

/// "computed", "input", "parameter".
const char* origin_name(TraceNonFinite::Origin origin);

/// Everything a trace recorded, in order of time.
struct TraceLog {
  std::vector<TraceOperator> operators;       ///< calls, in the order in which they began
  std::vector<TraceCast> casts;               ///< what autocast inserted
  std::vector<TraceLoss> losses;              ///< what was scaled for backward
  std::vector<TraceScale> scales;             ///< iterations of loss scales
  std::vector<TraceStep> steps;               ///< of optimizers
  std::vector<ExponentHistogram> histograms;  ///< of watched tensors and their gradients
  std::vector<TraceNonFinite> nonfinite;      ///< the first of each step that has one
  std::int64_t dropped = 0;                   ///< calls beyond TraceOptions::max_operators
  double time = 0;      ///< microseconds from begin to end, without the trace's own work
  double own_time = 0;  ///< microseconds the trace took for itself

  /// Bytes kept for backward during the step, by dtype; step -1: the largest of all steps.
  std::vector<TraceBytes> saved_bytes(std::int64_t step = -1) const;
  /// The largest loss scale at which none of the gradients seen last overflows float16; 0: none seen.
  double suggested_scale() const;
};

/// Calls of one name, phase and dtypes, added up.
struct TraceRow {
  std::string name;                         ///< the operator's
  TracePhase phase = TracePhase::kForward;  ///< where in training
  std::string policy;                       ///< in force, with "(off)" outside autocast
  std::string dtypes;                       ///< "float32 float16 -> float16"
  std::int64_t calls = 0;                   ///< how many
  double time = 0, self = 0;                ///< microseconds, with and without the calls inside
  /// Casts for them, bytes these moved, bytes kept for backward.
  std::int64_t casts = 0, cast_bytes = 0, saved_bytes = 0;
};

/// The calls of a trace by name, phase and dtypes, the largest own time first. Nodes are left out: their time
/// is that of the operators inside.
std::vector<TraceRow> summarise(const TraceLog& log);

/// Aligned text: totals, operators by time (the first `most_rows`), casts, saved bytes, scale events, first
/// non-finite values, and histograms.
std::string trace_table(const TraceLog& log, std::size_t most_rows = static_cast<std::size_t>(-1));
/// One JSON object a line: {"type": "operator", ...}. docs/trace.md has the fields.
std::string trace_json_lines(const TraceLog& log);
/// The trace-event format that Perfetto (ui.perfetto.dev) and chrome://tracing open.
std::string trace_chrome_json(const TraceLog& log);
/// One page with everything inline: opens without network, also on a phone.
std::string trace_html(const TraceLog& log, const std::string& title);
/// Reads what trace_json_lines wrote. Throws Error naming the line that makes no sense.
TraceLog parse_trace_json_lines(const std::string& text);

}  // namespace halftone::amp
