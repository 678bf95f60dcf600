! SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
!
! Writes by HDF5's Fortran library, from a procedure of a module: 4 times 30 and 50 h5dwrite_f of 64 doubles. The line of the call
! itself is not tested: gfortran's tables have that of the procedure for it.
module writer
  use hdf5
  implicit none
contains
  subroutine write_field(dset, n)
    integer(hid_t), intent(in) :: dset
    integer, intent(in) :: n
    integer(hsize_t), dimension(1), parameter :: dims = [64_hsize_t]
    double precision, dimension(64) :: values
    integer :: err
    values = n
    call h5dwrite_f(dset, H5T_NATIVE_DOUBLE, values, dims, err)
    if (err /= 0) error stop 3
  end subroutine
end module

program main
  use writer
  implicit none
  character(len=4096) :: path
  integer(hid_t) :: file, space, dset
  integer(hsize_t), dimension(1), parameter :: dims = [64_hsize_t]
  integer :: i, k, err
  call get_command_argument(1, path)
  call h5open_f(err)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, err)
  call h5screate_simple_f(1, dims, space, err)
  call h5dcreate_f(file, "field", H5T_NATIVE_DOUBLE, space, dset, err)
  do k = 1, 4
    call execute_command_line("sleep 0.15")             ! in which the recorder learns where the code is
    do i = 1, 30
      call write_field(dset, i)                         ! @first
    end do
    do i = 1, 50
      call write_field(dset, i)                         ! @second
    end do
  end do
  call execute_command_line("sleep 0.15")
  call h5dclose_f(dset, err)
  call h5sclose_f(space, err)
  call h5fclose_f(file, err)
  call h5close_f(err)
end program
