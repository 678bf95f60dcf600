# OMPIO, without a change of the program: the number of aggregators.
export OMPI_MCA_io_ompio_num_aggregators=2
