# Lustre: more stripes, so that more servers take part.
lfs setstripe -c 8 DIRECTORY
