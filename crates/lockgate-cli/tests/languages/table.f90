! A table by formatted output, internal files, allocation, and what the array intrinsics do.
program table
  implicit none
  real(8), allocatable :: a(:, :)
  character(len=12) :: text
  integer :: i, n
  n = 3
  allocate (a(n, n))
  do i = 1, n
    a(:, i) = [1d0, 2d0, 3d0]**i
  end do
  write (text, '(a, i0)') 'rank ', n
  print '(a)', trim(text)
  print '(3f8.2)', transpose(matmul(a, a))
  print *, sum(a), maxval(a), count(mod(int(a), 2) == 0)
  text = '42 6.5'
  read (text, *) i, a(1, 1)
  print *, i, a(1, 1), sqrt(2q0)
  if (i /= 42) stop 3
end program
