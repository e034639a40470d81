// Inputs of runs that are recorded by Intel PT. Nobody sees which files the program opens, so those are kept
// that it may open by a name in its arguments or its code, if they are there before and have not changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "abi/record.h"
#include "program/program.h"
#include "pt/input_reader.h"
#include "recording/recording_info.h"
#include "symex/program_image.h"

namespace heddle {

std::vector<heddle_record_file> files_that_may_be_read(const Program& program,
                                                       const std::vector<std::string>& command);

// The values of environment variables become part of the image.
PtInputs inputs_of_recording(const RecordingInfo& info, const std::filesystem::path& folder,
                             ProgramImage& image);

}  // namespace heddle
