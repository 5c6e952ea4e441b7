"""Tests of `trueup run --until-caught-up`."""
