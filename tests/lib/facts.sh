# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the archive of the program facts must have; sourced after e2e.sh.

# fact PATTERN NAME: all values of a property of files, as an expression.
fact() { echo "[v for v in prop('$1', '$2') if v is not None]"; }

# all_of NAME: true of an archive of the program facts that is in $TMP/NAME/trace, be it of one node or merged. Another process than
# the one that made it has asked for the facts of g/packed.
all_of() {
	local h5="*/data/d.h5" nc="*/data/n.nc"
	expect "$1" "$(fact "$h5" 'HDF5 plain: Layout') == ['contiguous'] and $(fact "$h5" 'HDF5 plain: Chunk Shape') == []" \
		"$(fact "$h5" 'HDF5 plain: Filters') == ['none'] and $(fact "$h5" 'HDF5 plain: Fill Time') == ['if-set']" \
		"$(fact "$h5" 'HDF5 g/packed: Layout') == ['chunked'] and $(fact "$h5" 'HDF5 g/packed: Chunk Shape') == ['4,8']" \
		"$(fact "$h5" 'HDF5 g/packed: Filters') == ['shuffle, deflate']" \
		"$(fact "$h5" 'HDF5 g/packed: Deflate Level') == ['5']" \
		"$(fact "$h5" 'HDF5 g/packed: Fill Value') == ['set'] and $(fact "$h5" 'HDF5 g/packed: Fill Time') == ['never']" \
		"$(fact "$h5" 'HDF5 many: Chunk Shape') == ['3,5'] and $(fact "$h5" 'HDF5 many: Filters') == ['none']" \
		"$(fact "$h5" 'HDF5 many: Chunk Cache') == ['1234567']" \
		"$(fact "$h5" 'HDF5 many: Chunk Cache Slots') == ['521']" \
		"$(fact "$h5" 'HDF5: Alignment') == ['4096'] and $(fact "$h5" 'HDF5: Alignment Threshold') == ['512']" \
		"$(fact "$nc" 'netCDF field: Chunk Shape') == ['2,16'] and $(fact "$nc" 'netCDF field: Fill Mode') == ['no-fill']" \
		"$(fact "$nc" 'netCDF packed: Deflate Level') == ['3'] and $(fact "$nc" 'netCDF packed: Shuffle') == ['yes']" \
		"$(fact "$nc" 'netCDF line: Layout') == ['contiguous'] and $(fact "$nc" 'netCDF line: Chunk Shape') == []" \
		"$(fact "$nc" 'HDF5 field: Chunk Shape') == ['2,16'] and $(fact "$nc" 'HDF5 field: Fill Time') == ['never']" \
		"$(fact "$nc" 'HDF5 packed: Filters') == ['shuffle, deflate']" \
		"$(fact "$nc" 'HDF5 line: Layout') == ['contiguous']" \
		"all($(fact "$nc" '@: Hint cb_buffer_size' | sed "s/'@/l + '/") == ['1048576']
			for l in ('netCDF', 'HDF5', 'MPI-IO'))" \
		"len($(fact "$nc" 'MPI-IO: Implementation')) == 1"
}
