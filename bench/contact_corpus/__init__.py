"""Contact problems in files, and what solvers make of them: see `python -m bench.contact_corpus --help`."""
