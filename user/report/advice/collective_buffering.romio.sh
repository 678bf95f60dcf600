# ROMIO, without a change of the program: two-phase I/O also where the ranks' pieces are not interleaved.
printf 'romio_cb_write enable\nromio_cb_read enable\n' >romio_hints
export ROMIO_HINTS=$PWD/romio_hints
