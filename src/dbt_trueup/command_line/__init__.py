"""The command line `trueup`: its options, its signals and its exit codes."""
