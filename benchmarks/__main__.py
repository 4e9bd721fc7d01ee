"""`make bench`: speed as ratios against a named baseline in the same run."""

from benchmarks import cell, encoders, overhead

if __name__ == "__main__":
    encoders.main()
    cell.main()
    overhead.main()
