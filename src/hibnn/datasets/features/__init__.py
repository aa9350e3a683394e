"""Photographs as numbers that a pre-trained network makes of them; the only part of data sets that needs torch."""
