# ROMIO, without a change of the program: two aggregators on each node instead of one.
printf 'cb_config_list *:2\n' >romio_hints
export ROMIO_HINTS=$PWD/romio_hints
