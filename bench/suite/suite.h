#pragma once

/// The benchmark suite: what `halftone bench` and the Google Benchmark program are made of.

#include "halftone/bench/suite/compare.h"
#include "halftone/bench/suite/runner.h"
