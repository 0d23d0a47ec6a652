def read_mjcf(root, d): raise NotImplementedError
