# ROMIO, without a change of the program: no data sieving of writes, which reads what lies between the pieces.
printf 'romio_ds_write disable\n' >romio_hints
export ROMIO_HINTS=$PWD/romio_hints
