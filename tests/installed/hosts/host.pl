# A Perl program with an extension in C (perl.c) that brings the library. Perl's handlers run between its instructions.
use strict;
use warnings;
use DynaLoader;

$SIG{USR1} = sub { };
$SIG{TERM} = sub { };
my $library = DynaLoader::dl_load_file("$ENV{HOSTS}/perl.so", 0) or die DynaLoader::dl_error();
my $symbol = DynaLoader::dl_find_symbol($library, "boot_Host") or die DynaLoader::dl_error();
DynaLoader::dl_install_xsub("Host::bootstrap", $symbol)->("Host");
my $status = Host::run(@ARGV);
my $caught = 0;
for my $number (1 .. 1000) {
    eval { my $none = 0; my $quotient = $number / $none; 1 } or $caught++;
}
die "divisions of the program's own: $caught" unless $caught == 1000;
exit $status;
