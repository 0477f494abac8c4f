"""What every room may use: errors, progress, paths, interrupts, and memory that a process keeps."""
