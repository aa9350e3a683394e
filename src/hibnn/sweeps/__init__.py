"""Many runs: grids from a TOML file, the engines that carry them out, estimates of their time, and searches."""
