#!/usr/bin/env python3
"""record_npz.py FOLDER : writes numpy_stored.npz and numpy_deflated.npz, which test_npz.cpp reads. Needs NumPy; run
again only to record anew."""

import sys

import numpy

ARRAYS = {
    "weight": numpy.arange(12, dtype=numpy.float32).reshape(3, 4) / 8,
    "layer.bias": numpy.full(100, 0.25, dtype=numpy.float16),
    "labels": numpy.array([3, -1, 4], dtype=numpy.int64),
    "mask": numpy.array([[True, False], [False, True]]),
    "columns": numpy.asfortranarray(numpy.arange(6, dtype=numpy.float64).reshape(2, 3)),
}

folder = sys.argv[1]
numpy.savez(folder + "/numpy_stored.npz", **ARRAYS)
numpy.savez_compressed(folder + "/numpy_deflated.npz", **ARRAYS)
