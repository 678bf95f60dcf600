! SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
! mpiio_f FILE: each rank, through the Fortran bindings: 1 open, 6 write_at_all and 6 read_at_all of 1000 doubles (8000 bytes), 1 close;
! and rank 0 writes 10 records of a Fortran unit to FILE.txt.
program mpiio
   use mpi
   implicit none
   integer, parameter :: points = 1000, steps = 6
   integer :: rank, ranks, file, error, step, status(MPI_STATUS_SIZE)
   integer(kind=MPI_OFFSET_KIND) :: place
   double precision :: values(points), back(points)
   character(len=4096) :: path

   call MPI_Init(error)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
   call get_command_argument(1, path)
   call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, error)
   if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 3, error)
   do step = 0, steps - 1
      values = step * 100 + rank
      place = int(step * ranks + rank, MPI_OFFSET_KIND) * points * 8
      call MPI_File_write_at_all(file, place, values, points, MPI_DOUBLE_PRECISION, status, error)
      if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 3, error)
   end do
   do step = 0, steps - 1
      place = int(step * ranks + rank, MPI_OFFSET_KIND) * points * 8
      call MPI_File_read_at_all(file, place, back, points, MPI_DOUBLE_PRECISION, status, error)
      if (error /= MPI_SUCCESS .or. any(back /= step * 100 + rank)) call MPI_Abort(MPI_COMM_WORLD, 4, error)
   end do
   call MPI_File_close(file, error)
   if (rank == 0) then
      open(unit=20, file=trim(path)//'.txt', status='replace')
      do step = 1, 10
         write(20, '(a,i4)') 'record', step
      end do
      close(20)
   end if
   call MPI_Finalize(error)
end program mpiio
