! SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
!
! Writes by the Fortran run time, from a procedure of a module: 4 times 40 and 60.
module writer
  implicit none
contains
  subroutine write_field(unit, n)
    integer, intent(in) :: unit, n
    write (unit, '(i6)') n
    flush (unit)                                        ! @flush
  end subroutine
end module

program main
  use writer
  implicit none
  character(len=4096) :: path
  integer :: i, k
  call get_command_argument(1, path)
  open (unit=10, file=trim(path))
  do k = 1, 4
    call execute_command_line("sleep 0.15")             ! in which the recorder learns where the code is
    do i = 1, 40
      call write_field(10, i)                           ! @first
    end do
    do i = 1, 60
      call write_field(10, i)                           ! @second
    end do
  end do
  call execute_command_line("sleep 0.15")
  close (10)
end program
