# find_package(lockgate): the targets lockgate::lockgate (shared) and lockgate::lockgate_static.
get_filename_component(_lockgate_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET lockgate::lockgate)
  find_package(Threads REQUIRED)
  add_library(lockgate::lockgate SHARED IMPORTED)
  set_target_properties(lockgate::lockgate PROPERTIES
    IMPORTED_LOCATION "${_lockgate_prefix}/lib/liblockgate.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_lockgate_prefix}/include")
  add_library(lockgate::lockgate_static STATIC IMPORTED)
  set_target_properties(lockgate::lockgate_static PROPERTIES
    IMPORTED_LOCATION "${_lockgate_prefix}/lib/liblockgate.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_lockgate_prefix}/include"
    INTERFACE_LINK_LIBRARIES "m;Threads::Threads;${CMAKE_DL_LIBS}")
endif()
unset(_lockgate_prefix)
