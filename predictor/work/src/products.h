#pragma once

#include "predictor/work/sizes.h"
#include "predictor/work/work.h"

namespace understudy::predictor {

// Each sets the FLOPs and the sizes of a call of its family. What the arguments do not tell stays.
void set_product(const OperatorCall& call, Work& work);
void set_convolution(const OperatorCall& call, Work& work);
void set_attention(const OperatorCall& call, Work& work);
/// Sets the bytes, too: of the experts' weights only those that are hit.
void set_experts(const OperatorCall& call, Work& work);

}  // namespace understudy::predictor
