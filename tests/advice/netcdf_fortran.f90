! SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
!
! The variables of snippets for netCDF-Fortran, on a netCDF-4 file in define mode; a snippet must leave status 0.
subroutine snippet_NAME(path)
    use netcdf
    implicit none
    character(len=*), intent(in) :: path
    integer, parameter :: rows = 8, columns = 16
    integer :: status, ncid, varid, dimids(2), first_row, old_mode
    double precision :: values(columns, rows)
    values = 0
    first_row = 1
    old_mode = 0
    status = nf90_create(path, ior(nf90_netcdf4, nf90_clobber), ncid)
    status = nf90_def_dim(ncid, "column", columns, dimids(1))
    status = nf90_def_dim(ncid, "row", rows, dimids(2))
    status = nf90_def_var(ncid, "field", nf90_double, dimids, varid)
    include "SNIPPET"
    if (status /= nf90_noerr) then
        print *, "NAME: ", trim(nf90_strerror(status))
        stop 1
    end if
    status = nf90_close(ncid)
end subroutine
