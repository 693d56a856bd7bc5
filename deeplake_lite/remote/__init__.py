"""Work in other processes: processes of this package, executors of other libraries, and errors."""
