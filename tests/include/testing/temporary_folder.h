#pragma once

#include "et_schema/base/temporary_folder.h"

namespace understudy::testing_files {

using et_schema::TemporaryFolder;

}  // namespace understudy::testing_files
