#pragma once

// How ranks communicate: by MPI where the project is built with it, else not at all.

#ifdef BENCH_MPI
#include "comms_mpi.h"
#else
#include "comms_single.h"
#endif
