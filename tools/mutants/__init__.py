"""Do the tests notice when the library is wrong? Mutants are copies of it with one small mistake each."""
