# Lustre: a stripe size that the offsets are multiples of, for files that are created in the directory from now on.
lfs setstripe -S 4M DIRECTORY
