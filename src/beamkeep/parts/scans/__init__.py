"""The reader of scan files: HDF5 is parsed in a child process that can open nothing by itself."""
