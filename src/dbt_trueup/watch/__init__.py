"""The warm runner: `trueup watch` runs collections again as their logs grow, in one process."""
