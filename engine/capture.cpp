#include "halftone/engine/capture.h"

#include "halftone/engine/error.h"

namespace halftone::cuda {

void refuse_in_capture(const char* op, const char* what) {
  if (!current_capture()) [[likely]]
    return;
  fail(op, what,
       " cannot be captured in a graph: every replay would do it again; run one whole step before the "
       "capture");
}

}  // namespace halftone::cuda
