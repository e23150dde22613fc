/* libpng's configuration: the prebuilt one that it ships. */
#include <scripts/pnglibconf.h.prebuilt>
