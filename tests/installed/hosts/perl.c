/* An extension of Perl's that brings the library. */
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
int host_main(int, char **);

static XS(run) {
    dXSARGS;
    char *argv[20] = {"host"};
    int count = items < 18 ? (int)items : 18;
    for (int i = 0; i < count; i++)
        argv[i + 1] = SvPV_nolen(ST(i));
    ST(0) = sv_2mortal(newSViv(host_main(count + 1, argv)));
    XSRETURN(1);
}

XS(boot_Host) {
    dXSARGS;
    PERL_UNUSED_VAR(items);
    newXS("Host::run", run, __FILE__);
    XSRETURN(0);
}
